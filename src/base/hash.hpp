// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace vkf {

// FNV-1a with 64 bits. Pass the hash of earlier bytes to go on from there. A change of a single byte always changes the
// hash.
inline uint64_t hashOf(std::span<const std::byte> bytes, uint64_t hash = 0xcbf29ce484222325) {
    for (const std::byte byte : bytes) {
        hash = (hash ^ std::to_integer<uint64_t>(byte)) * 0x100000001b3;
    }
    return hash;
}

} // namespace vkf
