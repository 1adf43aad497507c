// SPDX-License-Identifier: MIT
#include "measure/device_fill.hpp"

#include <algorithm>

#include "measure/compute_shader.hpp"
#include "vkflash/problem.hpp"

namespace vkf::tools {

namespace {

// Generating billions of numbers takes longer than using them, so the inputs repeat some numbers. The count is a prime,
// or a prime number of blocks. Therefore no row of a tensor equals another row, and no tile looks like its neighbour.
constexpr uint64_t repeatedElements = 1048573;
constexpr uint64_t repeatedBlocks = 32749;

} // namespace

uint64_t repeatedOf(VkfType type) {
    const uint64_t block = vkfBlockElements(type);
    return block == 1 ? repeatedElements : repeatedBlocks * block;
}

void repeat(host::Device& device, std::span<const std::byte> block, const host::Buffer& to, uint64_t bytes) {
    uint64_t done = std::min<uint64_t>(block.size(), bytes);
    device.upload(to, block.data(), done);
    for (uint64_t copied = 0; done < bytes; done += copied) {
        copied = std::min(done, bytes - done);
        device.submit([&](VkCommandBuffer commands) { recordCopy(device, commands, to, done, copied); });
    }
}

bool ensureRoom(host::Device& device, host::Buffer& buffer, uint64_t bytes) {
    if (buffer.size() >= bytes)
        return false;
    buffer = {};
    buffer = device.createBuffer(bytes);
    return true;
}

} // namespace vkf::tools
