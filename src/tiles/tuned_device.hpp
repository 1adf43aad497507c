// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "device/caps.hpp"
#include "tiles/tuning_entry.hpp"

namespace vkf {

// A device, its tuning data, and what its driver refused: all that a plan depends on besides the problem. It refers to
// data that the context owns.
struct TunedDevice {
    const Caps& caps;
    std::span<const TuningEntry> tuning{}; // the entries for this device, in their order
    const char* noLaunches = nullptr;      // why no kernel of path wgmma can be launched; null = it can
};

} // namespace vkf
