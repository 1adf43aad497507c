// SPDX-License-Identifier: MIT
#include "tune/candidates.hpp"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

namespace vkf::tools {

namespace {

struct ScalarTile {
    uint32_t groups, lanes, threadRows, threadKeys, chunkDim4, chunkKeys;
};

struct CoopmatTile {
    uint32_t subgroups, rowTiles, keyTiles;
    uint32_t mostDim; // with larger dimensions, o and q of a subgroup's rows fill the registers of any GPU
};

struct BackwardTile {
    uint32_t subgroups, ownedTiles, steps, stages, depthSubgroups;
    uint32_t mostDim; // as above
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

constexpr std::array gradientTiles = {
    BackwardTile{4, 2, 4, 1, 1, 64},  BackwardTile{4, 2, 2, 2, 1, 64},  BackwardTile{8, 2, 2, 1, 1, 64},
    BackwardTile{8, 1, 4, 2, 1, 64},  BackwardTile{4, 1, 4, 2, 1, 64},  BackwardTile{8, 1, 2, 2, 1, 128},
    BackwardTile{8, 1, 2, 1, 1, 128}, BackwardTile{4, 1, 2, 2, 1, 128}, BackwardTile{4, 1, 1, 2, 1, 128},
    BackwardTile{2, 1, 2, 1, 1, 128}, BackwardTile{8, 1, 1, 2, 1, 256}, BackwardTile{8, 1, 1, 1, 2, 256},
    BackwardTile{4, 1, 1, 1, 2, 256}, BackwardTile{8, 1, 2, 1, 2, 256}, BackwardTile{4, 1, 1, 1, 1, 256},
    BackwardTile{2, 1, 1, 1, 1, 256}, BackwardTile{1, 1, 1, 1, 1, 256},
};

// Two kernels for dk and dv compute the scores twice. That can pay only where one kernel has too many sums.
constexpr uint32_t leastDividedDim = 65;

// More workgroups by splits, or splits with fewer keys, cost more than any device gains.
constexpr uint64_t mostSplitWorkgroups = 1024;
constexpr uint32_t leastSplitKeys = 64;

std::string withSplits(const std::string& tile, uint32_t splits) { return fmt::format("{} splits={}", tile, splits); }

// Adds the tile without key splits, and with the number of splits that the library would choose.
void addTile(const std::string& tile, const VkfPlanInfo& builtIn, std::vector<std::string>& tiles) {
    tiles.push_back(withSplits(tile, 1));
    if (builtIn.kvSplits > 1)
        tiles.push_back(withSplits(tile, builtIn.kvSplits));
}

} // namespace

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
            if (std::max(problem.headDim, problem.valueDim) <= t.mostDim)
                addTile(fmt::format("subgroups={} rowTiles={} keyTiles={}", t.subgroups, t.rowTiles, t.keyTiles),
                        builtIn, tiles);
    return tiles;
}

std::vector<std::vector<KernelTileText>> gradientCandidates(const VkfProblem& problem, VkfGradients gradients) {
    const uint32_t dim = std::max(problem.headDim, problem.valueDim);
    std::vector<std::vector<KernelTileText>> candidates;
    for (const BackwardTile& t : gradientTiles) {
        if (dim > t.mostDim)
            continue;
        const std::string tile = fmt::format("subgroups={} ownedTiles={} steps={} stages={} depthSubgroups={}",
                                             t.subgroups, t.ownedTiles, t.steps, t.stages, t.depthSubgroups);
        if (gradients == VKF_GRADIENT_Q) {
            candidates.push_back({{"dq", tile}});
            continue;
        }
        candidates.push_back({{"dk-dv", tile}});
        if (dim >= leastDividedDim)
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
        if (splits != plan.kvSplits && workgroups * splits <= mostSplitWorkgroups &&
            problem.keys / splits >= leastSplitKeys)
            tiles.push_back(withSplits(tile.substr(0, tile.find(" splits=")), splits));
    return tiles;
}

} // namespace vkf::tools
