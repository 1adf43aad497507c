// SPDX-License-Identifier: MIT
//
// What a tuning file says about a class of problems, as plain data; tuning_file.hpp reads the files.
#pragma once

#include <cstdint>

#include <vkflash/problem.h>

namespace vkf {

// Both ends belong to it.
struct Range {
    uint32_t least = 0;
    uint32_t most = 0;

    bool holds(uint64_t number) const { return least <= number && number <= most; }
};

// As the tile choice counts them: tuning.cpp and coopmat_tile.cpp tell what the numbers mean.
struct TunedScalarTile {
    uint32_t groups;
    uint32_t lanes;
    uint32_t threadRows;
    uint32_t threadKeys;
    uint32_t chunkDim4;
    uint32_t chunkKeys;
    uint32_t splits = 1;
};

struct TunedMatrixTile {
    uint32_t subgroups;
    uint32_t rowTiles;
    uint32_t keyTiles;
    uint32_t splits;
};

// The tile to take for the problems of a class. Whatever its numbers, results are right: a tile that does not
// fit device and problem is passed over.
struct TuningEntry {
    VkfPath path = VKF_PATH_AUTO;
    VkfType type = VKF_TYPE_F32; // of q, k, v and o
    bool masked = false;         // causal or a window
    Range headDim;
    Range valueDim;
    Range rows;               // of queries
    Range keys;               // that a row may see at most
    Range heads;              // query heads of all sequences
    TunedScalarTile scalar{}; // on path scalar
    TunedMatrixTile matrix{}; // on path coopmat
};

} // namespace vkf
