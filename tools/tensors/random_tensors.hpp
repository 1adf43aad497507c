// SPDX-License-Identifier: MIT
//
// Generated problems. A seed gives the same numbers on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "vkflash/host.hpp"

namespace vkf::tools {

// Elements with an almost normal distribution (mean 0, deviation 1). Scores then look like those of a model at
// initialisation.
std::vector<std::byte> normalBlock(VkfType type, uint64_t elements, uint64_t seed);

// Copies bytes [first, first + to.size()) of an endless repetition of the block.
void repeatBlock(std::span<const std::byte> block, uint64_t first, std::span<std::byte> to);

// The host memory of one call with such elements.
struct RandomTensors {
    std::vector<std::byte> q, k, v, o;
    std::vector<float> lse;
    std::vector<int32_t> keyLengths;
    std::vector<uint32_t> blockMask;
    std::vector<int32_t> blockTable;
    std::vector<int32_t> chosenKeys;

    // Fills o and lse with NaN, so that a check finds an element that was not written. blockDensity is the share of
    // open blocks, if the problem has a block mask.
    RandomTensors(const VkfProblem& problem, uint64_t seed, double blockDensity = 1);
    // Returns pointers into this object.
    host::HostTensors pointers(const VkfProblem& problem);
};

// The backward pass that wants the gradients of q, k and v, with all gradients in the types and strides of their
// tensors. `forward` must outlive the result.
VkfBackwardProblem gradientsOf(const VkfProblem& forward);

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
