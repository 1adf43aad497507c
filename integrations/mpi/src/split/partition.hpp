// SPDX-License-Identifier: MIT
//
// Which rows and keys each rank holds. Rows and keys are cut into as many chunks. A chunk is a range of each sequence.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <vkflash/mpi.hpp>

namespace vkf::mpi {

// Begins of packed sequences, [sequences + 1]. Empty = not packed.
using Offsets = std::span<const int32_t>;

uint32_t chunkCount(Distribution distribution, uint32_t ranks);
// Numbers of the chunks of a rank, in the order in which its tensors hold them.
std::vector<uint32_t> chunksOf(Distribution distribution, uint32_t ranks, uint32_t rank);
// Chunk `number` of `chunks`, of `rows` rows of each sequence or of packed ones. Sizes differ by at most one.
Chunk cutChunk(uint32_t rows, Offsets packed, uint32_t chunks, uint32_t number);

} // namespace vkf::mpi
