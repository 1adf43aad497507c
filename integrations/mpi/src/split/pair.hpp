// SPDX-License-Identifier: MIT
//
// The problem of a chunk of rows and a chunk of keys: the part of the whole call that one step computes.
#pragma once

#include <optional>
#include <vector>

#include <vkflash/mpi.hpp>

namespace vkf::mpi {

// Throws host::Error if a tensor cannot travel. Messages name it.
void checkTensor(const VkfTensor& tensor, const char* name);
// Throws host::Error if no method can compute the whole call.
void checkWhole(const VkfProblem& whole);

// Position of the first row of a sequence, where key 0 stands at 0. Sequence 0 stands for all that are not packed and
// have no key lengths.
int64_t firstPosition(const VkfProblem& whole, const Lengths& lengths, uint32_t sequence);
// Whether sequences have positions of their own.
bool hasOwnPositions(const VkfProblem& whole);
// Whether masks or ALiBi look at positions.
bool looksAtPositions(const VkfProblem& whole);
// Sets where the first row stands, relative to the first key.
void setPositions(VkfProblem& problem, int64_t distance);

// A call of a part of the rows over a part of the keys. Its tensors are dense.
struct PairCall {
    VkfProblem problem;
    std::vector<int32_t> rowOffsets; // [batch], with VKF_USE_ROW_OFFSETS
};

// The rows of one chunk over the keys of another. Empty if no row sees a key.
std::optional<PairCall> pairCall(const VkfProblem& whole, const Lengths& lengths, const Chunk& rows, const Chunk& keys);

// Key lengths within a chunk of keys: how many of its keys each sequence has.
std::vector<int32_t> lengthsIn(const Chunk& keys, const int32_t* lengths, uint32_t batch);
// Begins of the packed sequences within a chunk.
std::vector<int32_t> offsetsIn(const Chunk& chunk);

} // namespace vkf::mpi
