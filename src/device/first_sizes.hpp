// SPDX-License-Identifier: MIT
//
// The last fields of version 0.2 in the structs of vkflash.h that describe a device.
#pragma once

#include <vkflash/vkflash.h>

#include "base/versioned.hpp"

namespace vkf {

VKF_FIRST_SIZE(VkfDeviceQuery, reserved);
VKF_FIRST_SIZE(VkfDeviceRequirements, reserved);

} // namespace vkf
