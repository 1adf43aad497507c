// SPDX-License-Identifier: MIT
#include "proof/plans/described_devices.hpp"

#include "device/quirks.hpp"
#include "support/described_device.hpp"

namespace vkf::test {
namespace {

// The matrices of an H200, fp16 and bf16, with the narrow shape.
Caps h200() {
    Caps caps = matrixCaps();
    caps.vendorId = 0x10de;
    caps.driver = VK_DRIVER_ID_NVIDIA_PROPRIETARY;
    caps.features |= VKF_FEATURE_BFLOAT16_MATRIX;
    caps.bf16Matrix = caps.f16Matrix;
    return caps;
}

// RDNA 3 as RADV describes it.
Caps navi31() {
    Caps caps = capsOf(64, 65536, 1024);
    caps.vendorId = 0x1002;
    caps.driver = VK_DRIVER_ID_MESA_RADV;
    caps.features |= VKF_FEATURE_COOPERATIVE_MATRIX;
    caps.f16Matrix = {{}, viaSharedMatrixLayout(64, 16, 16, 16)};
    return caps;
}

Caps llvmpipe() {
    Caps caps = capsOf(8, 32768, 1024);
    caps.driver = VK_DRIVER_ID_MESA_LLVMPIPE;
    caps.quirks = driverQuirks(caps.driver);
    caps.features |= VKF_FEATURE_COOPERATIVE_MATRIX;
    caps.f16Matrix = {knownMatrixLayout(caps.driver, 8, 8, 8), viaSharedMatrixLayout(8, 8, 8, 8)};
    return caps;
}

Caps withoutStorage16() {
    Caps caps = capsOf(32, 49152, 1024);
    caps.features &= ~VkfFeatures{VKF_FEATURE_STORAGE_16BIT};
    return caps;
}

Caps withoutSubgroups() {
    Caps caps = capsOf(1, 16384, 128);
    caps.features &= ~VkfFeatures{VKF_FEATURE_FULL_SUBGROUPS};
    return caps;
}

Caps throughSharedMemory() {
    Caps caps = capsOf(32, 49152, 1024);
    caps.driver = VK_DRIVER_ID_INTEL_OPEN_SOURCE_MESA;
    caps.features |= VKF_FEATURE_COOPERATIVE_MATRIX;
    caps.f16Matrix = {{}, viaSharedMatrixLayout(32, 16, 16, 16)};
    return caps;
}

constexpr Range any = {0, UINT32_MAX};

TuningEntry entryFor(VkfPath path, TunedKernel kernel, bool masked) {
    TuningEntry entry;
    entry.path = path;
    entry.kernel = kernel;
    entry.type = VKF_TYPE_F16;
    entry.masked = masked;
    entry.headDim = {1, 128};
    entry.valueDim = {1, 128};
    entry.rows = entry.keys = entry.heads = any;
    return entry;
}

std::vector<TuningEntry> tuningData() {
    std::vector<TuningEntry> entries;
    for (const bool masked : {false, true}) {
        entries.push_back(entryFor(VKF_PATH_SCALAR, TunedKernel::attention, masked));
        entries.back().scalar = {8, 8, 4, 4, 8, 16, masked ? 2U : 1U};
        entries.push_back(entryFor(VKF_PATH_COOPMAT, TunedKernel::attention, masked));
        entries.back().coopmat = {4, 1, 2, masked ? 1U : 3U};
        for (const TunedKernel kernel : {TunedKernel::dq, TunedKernel::dkAndDv}) {
            entries.push_back(entryFor(VKF_PATH_COOPMAT, kernel, masked));
            entries.back().backward = {4, 1, 2, 1, 1};
        }
    }
    return entries;
}

} // namespace

std::vector<DescribedDevice> describedDevices() {
    return {
        {"h200", h200(), {}},
        {"h200 tuned", h200(), tuningData()},
        {"h100 with launches", hopperCaps(), {}},
        {"navi31", navi31(), {}},
        {"llvmpipe", llvmpipe(), {}},
        {"without 16-bit storage", withoutStorage16(), {}},
        {"without subgroups", withoutSubgroups(), {}},
        {"matrices through shared memory", throughSharedMemory(), {}},
    };
}

} // namespace vkf::test
