// SPDX-License-Identifier: MIT
//
// Summaries of the physical devices of an instance, and the choice of a device by name.
#pragma once

#include <string>
#include <vector>

#include "host/instance.hpp"

namespace vkf::host {

std::vector<DeviceSummary> summarize(const Instance& instance);

// Returns the index of the device that DeviceOptions::select names. Throws an Error with the list of devices if there
// is none.
uint32_t selectDevice(const std::vector<DeviceSummary>& devices, const std::string& select);

} // namespace vkf::host
