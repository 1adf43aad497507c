// SPDX-License-Identifier: MIT
//
// The described devices on which plans are made: one for each way in which a device changes a plan.
#pragma once

#include <vector>

#include "device/caps.hpp"
#include "tiles/tuning_entry.hpp"

namespace vkf::test {

struct DescribedDevice {
    const char* name;
    Caps caps;
    std::vector<TuningEntry> tuning;
};

std::vector<DescribedDevice> describedDevices();

} // namespace vkf::test
