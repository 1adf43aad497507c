// SPDX-License-Identifier: MIT
//
// What an H200 runs at a time, which the choices of tiles and splits aim at. Vulkan tells no device's number of
// multiprocessors; one with fewer hardly cares.
#pragma once

#include <algorithm>
#include <cstdint>

namespace vkf {

inline constexpr uint64_t multiprocessors = 132;

// Workgroups that one multiprocessor runs beside each other. `registers` are those that a tile counts; addresses,
// counters and intermediate results are added to them.
inline uint32_t residentWorkgroups(uint32_t workgroupSize, uint32_t registers, uint32_t sharedBytes) {
    constexpr uint32_t registersOfMultiprocessor = 65536;
    constexpr uint32_t sharedBytesOfMultiprocessor = 49152; // for all workgroups together, by experience
    constexpr uint32_t otherRegisters = 40;
    const uint32_t byRegisters = registersOfMultiprocessor / (workgroupSize * (registers + otherRegisters));
    const uint32_t byShared = sharedBytesOfMultiprocessor / std::max(sharedBytes, 1U);
    return std::clamp(std::min(byRegisters, byShared), 1U, 16U);
}

} // namespace vkf
