// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "device/caps.hpp"
#include "tiles/tuning_entry.hpp"

namespace vkf {

// What the choice of a tile rests on besides the problem. It refers to data that the context owns.
struct TunedDevice {
    const Caps& caps;
    std::span<const TuningEntry> tuning{}; // the entries for this device, in their order
};

} // namespace vkf
