// SPDX-License-Identifier: MIT
//
// What each step of the ring computes, and how far each block travels. Step t of rank r has the block of rank r - t.
#pragma once

#include <cstdint>
#include <vector>

#include <vkflash/mpi.hpp>

#include "split/partition.hpp"

namespace vkf::mpi {

// A chunk of rows of this rank over a chunk of keys of a block.
struct Pair {
    uint32_t rows;                   // number of the chunk of rows in the part of the rank
    uint32_t keys;                   // number of the chunk of keys in the block
    VkfProblem problem;              // dense
    std::vector<int32_t> rowOffsets; // with VKF_USE_ROW_OFFSETS
};

struct Schedule {
    Schedule(const VkfProblem& whole, Distribution distribution, const Lengths& lengths, uint32_t ranks, uint32_t rank);

    uint32_t ownerOf(uint32_t step) const { return (rank + ranks - step) % ranks; }
    // Whether this rank has the block of a step: it computes with the block, or a later rank does.
    bool hasBlock(uint32_t step) const { return reach[ownerOf(step)] >= step; }
    bool sendsBlock(uint32_t step) const { return reach[ownerOf(step)] > step; }

    uint32_t ranks;
    uint32_t rank;
    std::vector<Part> parts;              // of all ranks
    std::vector<std::vector<Pair>> steps; // [ranks]
    std::vector<uint32_t> reach;          // by owner: the last step for which its block travels
};

} // namespace vkf::mpi
