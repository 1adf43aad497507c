// SPDX-License-Identifier: MIT
#include "tune/tuning_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <span>

#include <fmt/format.h>

namespace vkf::tools {

namespace {

std::string rangeText(uint32_t least, uint32_t most) {
    return least == most ? std::to_string(least) : fmt::format("{}..{}", least, most);
}

// What each bit of numbers below `count` adds.
std::string placesText(const VkfMatrixPosition* bits, uint32_t count) {
    std::string text;
    for (uint32_t bit = 0; bit < VKF_MATRIX_POSITION_BITS && 1U << bit < count; ++bit)
        text += fmt::format("{}{}.{}", bit == 0 ? "" : ",", bits[bit].row, bits[bit].column);
    return text;
}

std::string elementsText(const VkfElementLayout& layout, uint32_t elements, uint32_t lanes) {
    return placesText(layout.elementBits, elements / lanes) + "/" + placesText(layout.laneBits, lanes);
}

struct ScalarTile {
    uint32_t groups, lanes, threadRows, threadKeys, chunkDim4, chunkKeys;
};

struct CoopmatTile {
    uint32_t subgroups, rowTiles, keyTiles;
    uint32_t maxDim; // with larger dimensions, o and q of a subgroup's rows fill the registers of any GPU
};

struct BackwardTile {
    uint32_t subgroups, ownedTiles, steps, stages, depthSubgroups;
    uint32_t maxDim; // as above
};

constexpr std::array scalarTiles = {
    ScalarTile{8, 16, 8, 4, 8, 16},  ScalarTile{8, 16, 8, 4, 8, 32},  ScalarTile{8, 16, 8, 2, 8, 16},
    ScalarTile{16, 16, 8, 4, 8, 16}, ScalarTile{16, 16, 4, 4, 8, 16}, ScalarTile{8, 16, 4, 4, 8, 16},
    ScalarTile{8, 16, 4, 2, 8, 16},  ScalarTile{16, 8, 8, 4, 8, 16},  ScalarTile{16, 8, 4, 4, 8, 16},
    ScalarTile{8, 8, 8, 4, 8, 16},   ScalarTile{8, 8, 4, 4, 8, 16},   ScalarTile{8, 8, 2, 4, 8, 8},
    ScalarTile{8, 16, 2, 2, 8, 16},  ScalarTile{16, 4, 2, 4, 8, 8},   ScalarTile{32, 4, 1, 4, 8, 8},
};

constexpr std::array matrixTiles = {
    CoopmatTile{4, 2, 4, 64},  CoopmatTile{8, 2, 4, 64},  CoopmatTile{8, 2, 2, 128}, CoopmatTile{4, 2, 2, 128},
    CoopmatTile{2, 2, 2, 128}, CoopmatTile{8, 1, 4, 128}, CoopmatTile{8, 1, 2, 256}, CoopmatTile{4, 1, 4, 128},
    CoopmatTile{4, 1, 2, 256}, CoopmatTile{2, 1, 4, 128}, CoopmatTile{2, 1, 2, 256}, CoopmatTile{1, 1, 2, 256},
    CoopmatTile{1, 1, 1, 256},
};

// For fp32 numbers as bf16x3, whose tiles of k and v take three times as much shared memory.
constexpr std::array bf16x3Tiles = {
    CoopmatTile{4, 2, 1, 64},  CoopmatTile{8, 2, 1, 64},  CoopmatTile{8, 1, 2, 64},  CoopmatTile{4, 1, 2, 64},
    CoopmatTile{8, 1, 1, 128}, CoopmatTile{4, 1, 1, 128}, CoopmatTile{2, 1, 1, 128}, CoopmatTile{1, 1, 1, 128},
};

constexpr std::array backwardTiles = {
    BackwardTile{4, 2, 4, 1, 1, 64},  BackwardTile{4, 2, 2, 2, 1, 64},  BackwardTile{8, 2, 2, 1, 1, 64},
    BackwardTile{8, 1, 4, 2, 1, 64},  BackwardTile{4, 1, 4, 2, 1, 64},  BackwardTile{8, 1, 2, 2, 1, 128},
    BackwardTile{8, 1, 2, 1, 1, 128}, BackwardTile{4, 1, 2, 2, 1, 128}, BackwardTile{4, 1, 1, 2, 1, 128},
    BackwardTile{2, 1, 2, 1, 1, 128}, BackwardTile{8, 1, 1, 2, 1, 256}, BackwardTile{8, 1, 1, 1, 2, 256},
    BackwardTile{4, 1, 1, 1, 2, 256}, BackwardTile{8, 1, 2, 1, 2, 256}, BackwardTile{4, 1, 1, 1, 1, 256},
    BackwardTile{2, 1, 1, 1, 1, 256}, BackwardTile{1, 1, 1, 1, 1, 256},
};

// Two kernels for dk and dv compute the scores twice. That can pay only where one kernel has too many sums.
constexpr uint32_t minDividedDim = 65;

// More workgroups by splits, or splits with fewer keys, cost more than any device gains.
constexpr uint64_t maxSplitWorkgroups = 1024;
constexpr uint32_t minSplitKeys = 64;

std::string withSplits(const std::string& tile, uint32_t splits) { return fmt::format("{} splits={}", tile, splits); }

// Adds the tile without key splits, and with the number of splits that the library would choose.
void addTile(const std::string& tile, const VkfPlanInfo& builtIn, std::vector<std::string>& tiles) {
    tiles.push_back(withSplits(tile, 1));
    if (builtIn.kvSplits > 1)
        tiles.push_back(withSplits(tile, builtIn.kvSplits));
}

} // namespace

ProblemClass::ProblemClass(const VkfProblem& measured, VkfPath path)
    : measured_(measured), path_(path), rows_(around(measured.queryRows)), keys_(around(measured.keys)),
      heads_(around(measured.batch * measured.queryHeads)) {}

// Classes of numbers that differ by a factor of two touch and do not overlap.
ProblemClass::Range ProblemClass::around(uint32_t number) {
    const double factor = std::numbers::sqrt2;
    const auto least = static_cast<uint32_t>(number / factor) + 1;
    return {std::min(least, number), static_cast<uint32_t>(number * factor)};
}

ProblemClass ProblemClass::narrowed() const {
    ProblemClass narrow = *this;
    const uint32_t heads = measured_.batch * measured_.queryHeads;
    narrow.rows_ = {measured_.queryRows, measured_.queryRows};
    narrow.keys_ = {measured_.keys, measured_.keys};
    narrow.heads_ = {heads, heads};
    return narrow;
}

VkfProblem ProblemClass::corner(uint32_t Range::*end) const {
    VkfProblem problem = measured_;
    problem.batch = 1;
    problem.queryHeads = problem.kvHeads = heads_.*end;
    problem.queryRows = rows_.*end;
    problem.keys = keys_.*end;
    return problem;
}

std::vector<VkfProblem> ProblemClass::corners() const { return {corner(&Range::least), corner(&Range::most)}; }

std::string ProblemClass::entry(const KernelTileText& tile, const std::string& remark) const {
    const uint32_t valueDim = measured_.valueDim != 0 ? measured_.valueDim : measured_.headDim;
    return fmt::format("{}{}{} type={} masked={} headDim={} valueDim={} rows={} keys={} heads={} {}{}{}",
                       vkfPathName(path_), *tile.kernel != 0 ? "-" : "", tile.kernel, vkfTypeName(measured_.q.type),
                       has(measured_, VKF_USE_CAUSAL) ? "yes" : "no", measured_.headDim, valueDim,
                       rangeText(rows_.least, rows_.most), rangeText(keys_.least, keys_.most),
                       rangeText(heads_.least, heads_.most), tile.tile, remark.empty() ? "" : " # ", remark);
}

std::string matrixLine(const VkfMatrixLayout& layout) {
    const auto [type, rows, columns, depth, lanes, reserved, result, left, right] = layout;
    return fmt::format("matrix type={} rows={} columns={} depth={} lanes={} result={} left={} right={}",
                       vkfTypeName(type), rows, columns, depth, lanes, elementsText(result, rows * columns, lanes),
                       elementsText(left, rows * depth, lanes), elementsText(right, depth * columns, lanes));
}

std::string tuningText(const host::DeviceSummary& device, const std::vector<std::string>& entries) {
    std::string text =
        fmt::format("vkflash tuning 1\n# {}, {}, vkflash {}.{}.{}\ndevice vendor={:#06x} device={:#06x} driver={}\n",
                    device.name, device.driver, VKF_VERSION_MAJOR, VKF_VERSION_MINOR, VKF_VERSION_PATCH,
                    device.vendorId, device.deviceId, static_cast<uint32_t>(device.driverId));
    for (const std::string& entry : entries)
        text += entry + "\n";
    return text;
}

std::vector<std::string> candidateTiles(const VkfProblem& problem, const VkfPlanInfo& builtIn) {
    std::vector<std::string> tiles;
    if (builtIn.path == VKF_PATH_SCALAR)
        for (const ScalarTile& t : scalarTiles)
            addTile(fmt::format("groups={} lanes={} threadRows={} threadKeys={} chunkDim4={} chunkKeys={}", t.groups,
                                t.lanes, t.threadRows, t.threadKeys, t.chunkDim4, t.chunkKeys),
                    builtIn, tiles);
    if (builtIn.path == VKF_PATH_COOPMAT)
        for (const CoopmatTile& t :
             problem.k.type == VKF_TYPE_F32 ? std::span<const CoopmatTile>(bf16x3Tiles) : matrixTiles)
            if (std::max(problem.headDim, problem.valueDim) <= t.maxDim)
                addTile(fmt::format("subgroups={} rowTiles={} keyTiles={}", t.subgroups, t.rowTiles, t.keyTiles),
                        builtIn, tiles);
    return tiles;
}

std::vector<std::vector<KernelTileText>> backwardCandidates(const VkfProblem& problem, VkfGradients gradients) {
    const uint32_t dim = std::max(problem.headDim, problem.valueDim);
    std::vector<std::vector<KernelTileText>> candidates;
    for (const BackwardTile& t : backwardTiles) {
        if (dim > t.maxDim)
            continue;
        const std::string tile = fmt::format("subgroups={} ownedTiles={} steps={} stages={} depthSubgroups={}",
                                             t.subgroups, t.ownedTiles, t.steps, t.stages, t.depthSubgroups);
        if (gradients == VKF_GRADIENT_Q) {
            candidates.push_back({{"dq", tile}});
            continue;
        }
        candidates.push_back({{"dk-dv", tile}});
        if (dim >= minDividedDim)
            candidates.push_back({{"dk", tile}, {"dv", tile}});
    }
    return candidates;
}

std::vector<std::string> otherSplits(const VkfProblem& problem, const VkfPlanInfo& plan) {
    std::vector<std::string> tiles;
    if (plan.path != VKF_PATH_COOPMAT && plan.path != VKF_PATH_SCALAR)
        return tiles;
    const std::string tile = plan.tile; // the text may lack splits=1
    const uint64_t workgroups =
        (uint64_t{problem.queryRows} + plan.tileRows - 1) / plan.tileRows * problem.batch * problem.queryHeads;
    for (const uint32_t splits : {1U, 2U, 3U, 4U, 6U, 8U, 16U})
        if (splits != plan.kvSplits && workgroups * splits <= maxSplitWorkgroups &&
            problem.keys / splits >= minSplitKeys)
            tiles.push_back(withSplits(tile.substr(0, tile.find(" splits=")), splits));
    return tiles;
}

} // namespace vkf::tools
