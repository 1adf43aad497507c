// SPDX-License-Identifier: MIT
#ifndef VKFLASH_TOOLS_RANDOM_GRADIENTS_HPP
#define VKFLASH_TOOLS_RANDOM_GRADIENTS_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

#include "vkflash/host.hpp"

namespace vkf::tools {

// The backward pass of a problem: random gradients of o and lse, and memory for the gradients of q, k and v.
struct RandomGradients {
    VkfBackwardProblem problem;
    std::vector<std::byte> dout, dlse, dq, dk, dv;

    // `forward` must outlive this object. `scratchBytes`: VkfBackwardProblem::maxScratchBytes. Throws host::Error if
    // the library refuses the backward pass.
    RandomGradients(const VkfProblem& forward, uint64_t seed, uint64_t scratchBytes);

    // Pointers into this object. dq, dk and dv hold NaN until a call writes them.
    host::HostGradients pointers();

private:
    std::vector<std::byte> poisoned(VkfBackwardRole role) const;
};

} // namespace vkf::tools

#endif
