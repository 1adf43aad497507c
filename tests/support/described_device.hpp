// SPDX-License-Identifier: MIT
//
// A device that is only described, for tests of decisions without a device; and element layouts of its matrices, as an
// application gives them.
#pragma once

#include "device/caps.hpp"
#include "device/matrix_layout.hpp"

namespace vkf::test {

inline Caps capsOf(uint32_t subgroupSize, uint32_t sharedBytes, uint32_t invocations) {
    Caps caps;
    caps.maxSharedMemoryBytes = sharedBytes;
    caps.maxInvocations = invocations;
    caps.maxGroupCount = 65535;
    caps.subgroupSize = subgroupSize;
    caps.subgroupShuffle = subgroupSize > 1;
    caps.subgroupVote = true;
    caps.subgroupSizeRequired = true;
    caps.features = VKF_FEATURE_BUFFER_DEVICE_ADDRESS | VKF_FEATURE_STORAGE_16BIT | VKF_FEATURE_FULL_SUBGROUPS;
    return caps;
}

// With the fp16 matrices of an H200.
inline Caps matrixCaps() {
    Caps caps = capsOf(32, 49152, 1024);
    caps.features |= VKF_FEATURE_COOPERATIVE_MATRIX;
    caps.f16Matrix.known = knownMatrixLayout(VK_DRIVER_ID_NVIDIA_PROPRIETARY, 32, 16, 16);
    return caps;
}

// An H100 that can launch kernels of PTX.
inline Caps hopperCaps() {
    Caps caps = matrixCaps();
    caps.driver = VK_DRIVER_ID_NVIDIA_PROPRIETARY;
    caps.vendorId = 0x10de;
    caps.deviceId = 0x2330;
    caps.features |= VKF_FEATURE_BFLOAT16_MATRIX | VKF_FEATURE_BINARY_IMPORT;
    caps.bf16Matrix = caps.f16Matrix;
    return caps;
}

// A layout of the library as an application would give it. Right operands are laid out like left operands, transposed.
inline VkfMatrixLayout applicationLayout(VkfType type, const MatrixLayout& layout) {
    VkfMatrixLayout given{};
    given.type = type;
    given.rows = layout.rows;
    given.columns = layout.columns;
    given.depth = layout.depth;
    given.lanes = layout.lanes;
    const auto copy = [](const auto& from, VkfMatrixPosition* to, VkfMatrixPosition* transposed) {
        for (const MatrixLayout::Position& place : from) {
            *to++ = {static_cast<uint16_t>(place.row), static_cast<uint16_t>(place.column)};
            *transposed++ = {static_cast<uint16_t>(place.column), static_cast<uint16_t>(place.row)};
        }
    };
    copy(layout.elementBits, given.result.elementBits, given.right.elementBits);
    copy(layout.laneBits, given.result.laneBits, given.right.laneBits);
    given.left = given.result;
    return given;
}

// NVIDIA's narrow shape, 16x8x16.
inline VkfMatrixLayout smallLayout(VkfType type) {
    VkfMatrixLayout given = applicationLayout(type, knownMatrixLayout(VK_DRIVER_ID_NVIDIA_PROPRIETARY, 32, 16, 16));
    given.columns = 8;
    given.result.elementBits[1] = {8, 0};
    given.result.elementBits[2] = {0, 0};
    given.right.elementBits[2] = {0, 0};
    return given;
}

} // namespace vkf::test
