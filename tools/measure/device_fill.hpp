// SPDX-License-Identifier: MIT
//
// Fills buffers of problems that are measured one after the other.
#ifndef VKFLASH_TOOLS_DEVICE_FILL_HPP
#define VKFLASH_TOOLS_DEVICE_FILL_HPP

#include <cstddef>
#include <cstdint>
#include <span>

#include "vkflash/host.hpp"

namespace vkf::tools {

// Number of elements that generated inputs of this type repeat.
uint64_t repeatedOf(VkfType type);

// Fills a buffer on the device with repetitions of a block. Each copy doubles the filled part.
void repeat(host::Device& device, std::span<const std::byte> block, const host::Buffer& to, uint64_t bytes);

// Returns true if it created a new buffer. It frees the old one first, because both together may not fit.
bool ensureRoom(host::Device& device, host::Buffer& buffer, uint64_t bytes);

// NaN in every type. An element that a kernel does not write must not pass for the right value of an earlier run.
inline constexpr uint32_t notANumber = 0xffffffff;

} // namespace vkf::tools

#endif
