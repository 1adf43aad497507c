// SPDX-License-Identifier: MIT
//
// The problem of a chunk of rows and a chunk of keys: the part of the whole call that one step computes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <vkflash/mpi.hpp>

namespace vkf::mpi {

// Throws host::Error if a tensor cannot travel. Messages name it.
void checkTensor(const VkfTensor& tensor, const char* name);
// Throws host::Error if no method can compute the whole call.
void checkWhole(const VkfProblem& whole);
// Throws host::Error if the ring cannot compute the whole call.
void checkRing(const VkfProblem& whole, const Lengths& lengths);
// Why the ring cannot compute the whole call, as far as it does not depend on lengths. Empty if it can.
std::string ringRefusal(const VkfProblem& whole);

// The problem of the rows of one chunk over the keys of another. Its tensors are dense. Empty if no row sees a key.
std::optional<VkfProblem> pairProblem(const VkfProblem& whole, const Chunk& rows, const Chunk& keys);

// Key lengths within a chunk of keys: how many of its keys each sequence has.
std::vector<int32_t> lengthsIn(const Chunk& keys, const int32_t* lengths, uint32_t batch);
// Begins of the packed sequences within a chunk.
std::vector<int32_t> offsetsIn(const Chunk& chunk);

} // namespace vkf::mpi
