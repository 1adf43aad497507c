// SPDX-License-Identifier: MIT
//
// Measures and tests the element layouts of a device's cooperative matrices, and tests whether it loads them right.
#pragma once

#include <vector>

#include "host/device_state.hpp"

namespace vkf::host {

// Measures all shapes of a type that kernels may use. Returns the layouts that kernels can use and that pass the test.
// Returns none if the device does not multiply the type.
std::vector<VkfMatrixLayout> measureMatrixLayouts(DeviceState& state, VkfType type);

// Throws as Device::testMatrixLayout says.
void testMatrixLayout(DeviceState& state, const VkfMatrixLayout& layout);

// Findings about the cooperative matrices of a device that is being opened, for its context.
struct MatrixFindings {
    std::vector<VkfMatrixLayout> layouts;
    bool loadsWrong = false; // a load or store in shared memory gave wrong elements; `layouts` is empty
};

// Measures and tests as DeviceOptions::layoutSource says. The state's own context was created without any layouts.
MatrixFindings examineMatrices(DeviceState& state, const DeviceOptions& options);

} // namespace vkf::host
