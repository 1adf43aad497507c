// SPDX-License-Identifier: MIT
//
// Groups of KV heads that the ring computes one after the other: while it computes a group, blocks of the next one
// travel, and buffers for what travels hold one group.
#pragma once

#include <cstdint>

#include <vkflash/mpi.hpp>

namespace vkf::mpi {

// The most groups of a forward and of a backward pass. More groups take less memory and have smaller kernels.
constexpr uint32_t mostForwardGroups = 8;
constexpr uint32_t mostBackwardGroups = 16;

// How many groups of equal size a call has: Split::headGroups, or else as many as leave the kernels of a chunk enough
// rows to fill a device.
//
// Throws host::Error if Split::headGroups does not suit the call.
uint32_t headGroupsOf(const VkfProblem& whole, const Split& split, uint32_t ranks, uint32_t most);
// The call of one group.
VkfProblem groupOf(const VkfProblem& whole, uint32_t groups);

} // namespace vkf::mpi
