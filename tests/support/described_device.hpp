// SPDX-License-Identifier: MIT
//
// A device that is only described, for tests of decisions without a device.
#pragma once

#include "device/caps.hpp"
#include "device/matrix_layout.hpp"

namespace vkf::test {

inline Caps capsOf(uint32_t subgroupSize, uint32_t sharedBytes, uint32_t invocations) {
    Caps caps;
    caps.apiVersion = VK_API_VERSION_1_3;
    caps.maxSharedMemoryBytes = sharedBytes;
    caps.maxInvocations = invocations;
    caps.maxGroupCount = 65535;
    caps.subgroupSize = subgroupSize;
    caps.subgroupShuffle = subgroupSize > 1;
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

} // namespace vkf::test
