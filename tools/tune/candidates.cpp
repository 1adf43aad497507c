// SPDX-License-Identifier: MIT
#include "tune/candidates.hpp"

#include <algorithm>
#include <array>

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
        for (const CoopmatTile& t : matrixTiles)
            if (std::max(problem.headDim, problem.valueDim) <= t.mostDim)
                addTile(fmt::format("subgroups={} rowTiles={} keyTiles={}", t.subgroups, t.rowTiles, t.keyTiles),
                        builtIn, tiles);
    return tiles;
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
