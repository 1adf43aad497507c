// SPDX-License-Identifier: MIT
//
// Tuning data as plain data. tuning_file.hpp reads it. An entry is about a class of problems.
#pragma once

#include <cstdint>
#include <vector>

#include <vkflash/vkflash.h>

namespace vkf {

// Includes both ends.
struct Range {
    uint32_t least = 0;
    uint32_t most = 0;

    bool holds(uint64_t number) const { return least <= number && number <= most; }
};

// The numbers of a ScalarTile (scalar_tile.hpp), and the splits of the keys.
struct TunedScalarTile {
    uint32_t groups;
    uint32_t lanes;
    uint32_t threadRows;
    uint32_t threadKeys;
    uint32_t chunkDim4;
    uint32_t chunkKeys;
    uint32_t splits = 1;
};

// The numbers of a CoopmatTile (coopmat_tile.hpp), and the splits of the keys.
struct TunedCoopmatTile {
    uint32_t subgroups;
    uint32_t rowMatrices;
    uint32_t keyUnits; // as in CoopmatTile
    uint32_t splits;
};

// The kernel that an entry is about: attention, or a kernel of the backward pass, by the gradients that it writes.
enum class TunedKernel { attention, dq, dk, dv, dkAndDv };

// The numbers of a BackwardMatrixTile (tiles/backward/backward_matrix_tile.hpp).
struct TunedBackwardTile {
    uint32_t subgroups;
    uint32_t ownedMatrices;
    uint32_t steps;
    uint32_t stages;
    uint32_t depthSubgroups;
};

// The tile for the problems of a class. Results are right whatever the numbers are: the library passes over a tile that
// does not fit the device or the problem.
struct TuningEntry {
    VkfPath path = VKF_PATH_AUTO;
    TunedKernel kernel = TunedKernel::attention;
    VkfType type = VKF_TYPE_F32; // of q, k, v and o
    bool masked = false;         // causal or a window
    Range headDim;
    Range valueDim;
    Range rows;                   // of queries
    Range keys;                   // the most that one row can see
    Range heads;                  // query heads of all sequences
    TunedScalarTile scalar{};     // attention on path scalar
    TunedCoopmatTile coopmat{};   // attention on path coopmat
    TunedBackwardTile backward{}; // the backward pass on path coopmat
};

// What a text holds for one device, in its order.
struct TuningData {
    std::vector<TuningEntry> entries;
    // That kernels can use. Nothing has tested them on the device, so that only the application may put them to use.
    std::vector<VkfMatrixLayout> matrixLayouts;
};

} // namespace vkf
