// SPDX-License-Identifier: MIT
//
// Element layouts from the application (VkfMatrixLayout). The library checks what it can check without the
// device. Only the application can test whether a layout is the device's own.
#pragma once

#include <span>

#include <vkflash/vkflash.h>

#include "device/caps.hpp"
#include "device/matrix_layout.hpp"

namespace vkf {

// Checks a layout as vkfCheckMatrixLayout says. Fills *layout, unless null, if kernels can use the layout.
VkfResult readMatrixLayout(const VkfMatrixLayout& from, MatrixLayout* layout, VkfMessage* message);

// Replaces the library's layouts by those of the application, as VkfContextCreateInfo::matrixLayouts says. Fails for a
// layout that no device can have, and for a shape that this device lacks.
VkfResult useMatrixLayouts(std::span<const VkfMatrixLayout> layouts, Caps* caps, VkfMessage* message);

} // namespace vkf
