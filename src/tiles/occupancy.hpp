// SPDX-License-Identifier: MIT
//
// How much an H200 runs at a time: the choices of tiles and splits aim at this device. Vulkan does not tell the number
// of multiprocessors. A device with fewer of them loses little.
#pragma once

#include <algorithm>
#include <cstdint>

#include "device/chips.hpp"

namespace vkf {

// Workgroups that one multiprocessor runs at the same time. `registers` is the count of a tile; this function adds
// those of addresses, counters and intermediate results.
inline uint32_t residentWorkgroups(uint32_t workgroupSize, uint32_t registers, uint32_t sharedBytes) {
    constexpr uint32_t registersOfMultiprocessor = 65536;
    constexpr uint32_t sharedBytesOfMultiprocessor = 49152; // of all its workgroups together, as observed
    constexpr uint32_t otherRegisters = 40;
    const uint32_t byRegisters = registersOfMultiprocessor / (workgroupSize * (registers + otherRegisters));
    const uint32_t byShared = sharedBytesOfMultiprocessor / std::max(sharedBytes, 1U);
    return std::clamp(std::min(byRegisters, byShared), 1U, 16U);
}

} // namespace vkf
