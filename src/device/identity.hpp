// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include <vulkan/vulkan_core.h>

namespace vkf {

// The device that tuning data is for. The driver's version is not part of it: a tile stays legal when the driver
// changes.
struct DeviceIdentity {
    uint32_t vendor = 0;
    uint32_t device = 0;
    VkDriverId driver{};

    bool operator==(const DeviceIdentity&) const = default;
};

} // namespace vkf
