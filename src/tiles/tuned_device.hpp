// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "device/caps.hpp"
#include "tiles/tuning_entry.hpp"

namespace vkf {

// A device and its tuning data, from which a tile is chosen for a problem. It refers to data that the context owns.
struct TunedDevice {
    const Caps& caps;
    std::span<const TuningEntry> tuning{}; // the entries for this device, in their order
};

} // namespace vkf
