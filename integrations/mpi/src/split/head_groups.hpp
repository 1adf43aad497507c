// SPDX-License-Identifier: MIT
//
// Groups of KV heads that the ring computes one after the other: while it computes a group, blocks of the next one
// travel, and buffers for what travels hold one group.
#pragma once

#include <cstdint>

#include <vkflash/mpi.hpp>

namespace vkf::mpi {

// The call of one group.
VkfProblem groupOf(const VkfProblem& whole, uint32_t groups);

} // namespace vkf::mpi
