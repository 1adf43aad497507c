// SPDX-License-Identifier: MIT
//
// Generated problems: the same numbers for the same seed on every machine.
#ifndef VKFLASH_TOOLS_RANDOM_TENSORS_HPP
#define VKFLASH_TOOLS_RANDOM_TENSORS_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "vkflash/host.hpp"

namespace vkf::tools {

// Elements are close to normally distributed (mean 0, deviation 1), so that scores look like those of a model
// at initialisation.
std::vector<std::byte> normalBlock(VkfType type, uint64_t elements, uint64_t seed);

// Bytes [first, first + to.size()) of a block that follows itself.
void repeatBlock(std::span<const std::byte> block, uint64_t first, std::span<std::byte> to);

// The host memory of one call, of such elements.
struct RandomTensors {
    std::vector<std::byte> q, k, v, o;
    std::vector<float> lse;
    std::vector<int32_t> keyLengths;
    std::vector<uint32_t> blockMask;
    std::vector<int32_t> blockTable;

    // o and lse are filled with NaN, so that an element that is not written is found. blockDensity is the share of
    // open blocks, if the problem has a block mask.
    RandomTensors(const VkfProblem& problem, uint64_t seed, double blockDensity = 1);
    // Pointers into this object.
    host::HostTensors pointers(const VkfProblem& problem);
};

} // namespace vkf::tools

#endif
