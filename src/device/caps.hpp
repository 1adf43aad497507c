// SPDX-License-Identifier: MIT
//
// All that the library needs to know about a device, read once, as plain data. All decisions (tiles, plans) take
// this data instead of a handle, so that tests need no device.
#pragma once

#include <cstdint>
#include <vector>

#include <vkflash/vkflash.h>

#include "device/identity.hpp"
#include "device/matrix_layout.hpp"
#include "device/vulkan_functions.hpp"

namespace vkf {

// A shape of products of a 16-bit type, summed in fp32 by a subgroup.
struct MatrixShape {
    VkfType type;
    uint32_t rows;
    uint32_t columns;
    uint32_t depth;
};

// Cooperative matrices of one type. A layout has 0 rows where the device has no useful shape.
struct MatrixUse {
    MatrixLayout known;           // in the driver's layout
    MatrixLayout viaShared;       // through shared memory, on any driver
    bool fromApplication = false; // whether `known` comes from the application, not from the library's table
};

struct Caps {
    VkDriverId driver{};
    uint32_t vendorId = 0;
    uint32_t deviceId = 0;
    uint32_t maxSharedMemoryBytes = 0;
    uint32_t maxInvocations = 0; // of a workgroup, in its first dimension too
    uint32_t maxGroupCount = 0;  // workgroups of a dispatch, first dimension
    uint32_t subgroupSize = 0;
    bool subgroupShuffle = false;            // in compute shaders
    bool subgroupVote = false;               // in compute shaders
    bool subgroupSizeRequired = false;       // a pipeline can ask for subgroupSize
    bool subgroupSizeExtension = false;      // its feature has an extension, besides Vulkan 1.3
    std::vector<MatrixShape> matrixShapes{}; // all shapes, in the order of the driver
    MatrixUse f16Matrix{};                   // of products of fp16, summed in fp32
    MatrixUse bf16Matrix{};                  // of bf16
    VkfFeatures features = 0;                // supported; in a context: enabled
    VkfQuirks quirks = 0;

    DeviceIdentity identity() const { return {vendorId, deviceId, driver}; }

    // Whether lanes can exchange values by subgroup shuffles. An invocation knows its place in the subgroup only where
    // subgroups are full and of a known size.
    bool subgroupReductions() const {
        return (features & VKF_FEATURE_FULL_SUBGROUPS) != 0 && subgroupShuffle && subgroupSizeRequired &&
               (quirks & VKF_QUIRK_NO_SUBGROUP_SHUFFLE) == 0;
    }

    bool storage16() const { return (features & VKF_FEATURE_STORAGE_16BIT) != 0; }

    const MatrixUse& matrixUse(VkfType type) const { return type == VKF_TYPE_BF16 ? bf16Matrix : f16Matrix; }

    // The matrices for products of a 16-bit type. There are none if rows is 0.
    const MatrixLayout& matrixOf(VkfType type) const {
        const MatrixUse& use = matrixUse(type);
        const bool known = use.known.rows != 0 && (quirks & VKF_QUIRK_UNKNOWN_MATRIX_LAYOUT) == 0;
        return known ? use.known : use.viaShared;
    }
};

// Reads limits, features and quirks of a physical device.
VkfResult readCaps(const VkfDeviceQuery& query, Caps* caps, VkfMessage* message);

// Reads the caps of the device that an application asks about, without the features that it leaves out.
VkfResult queryCaps(const VkfDeviceQuery* query, Caps* caps, VkfMessage* message);

// Fails if 16-bit storage is not enabled. `needy` begins the message: the subject with "needs" or "need", as in "path
// decode needs".
VkfResult requireStorage16(const Caps& caps, const char* needy, VkfMessage* message);

} // namespace vkf
