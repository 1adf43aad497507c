// SPDX-License-Identifier: MIT
//
// What the physical devices of an instance are, and which of them a program means.
#pragma once

#include <string>
#include <vector>

#include "host/instance.hpp"

namespace vkf::host {

std::vector<DeviceSummary> summarize(const Instance& instance);

// The index of the device that DeviceOptions::select names. Throws Error with the list of devices.
uint32_t selectDevice(const std::vector<DeviceSummary>& devices, const std::string& select);

} // namespace vkf::host
