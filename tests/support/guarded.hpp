// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <vkflash/host.hpp>

namespace vkf::test {

inline constexpr uint32_t poison = 0xffffffffU; // NaN in every type
inline constexpr uint64_t guardBytes = 256;

// A device buffer with guards on both sides of the part that a call may touch.
struct Guarded {
    host::Buffer buffer;
    uint64_t offset = 0;
    uint64_t bytes = 0;

    Guarded(host::Device& device, uint64_t size, uint64_t shift = 0) : offset(guardBytes + shift), bytes(size) {
        buffer = device.createBuffer((2 * guardBytes + shift + size + 3) / 4 * 4);
        device.fill(buffer, poison);
    }
    VkfBinding binding() const {
        VkfBinding b{};
        if (bytes != 0) {
            b = buffer.binding(offset);
            b.size = bytes;
        }
        return b;
    }
    std::vector<std::byte> download(host::Device& device) const {
        std::vector<std::byte> all(buffer.size());
        device.download(all.data(), buffer, all.size());
        return all;
    }
    bool intact(const std::vector<std::byte>& all) const {
        const auto isPoison = [](std::byte b) { return b == std::byte{0xff}; };
        return std::all_of(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(offset), isPoison) &&
               std::all_of(all.begin() + static_cast<std::ptrdiff_t>(offset + bytes), all.end(), isPoison);
    }
};

template <typename T> Guarded uploaded(host::Device& device, const std::vector<T>& from) {
    Guarded to(device, from.size() * sizeof(T));
    if (!from.empty()) {
        device.upload(to.buffer, from.data(), to.bytes, to.offset);
    }
    return to;
}

} // namespace vkf::test
