// SPDX-License-Identifier: MIT
//
// How many work items a step has.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tiles/occupancy.hpp"

namespace vkf {

// As many items of `operations` each as the limit allows, at least one. An application may wait for each step, so a
// step consists of whole waves of workgroups where the limit allows a wave: a wave of a few workgroups takes as long as
// a full one.
inline uint32_t itemsOfStep(double maxOperations, double operations, uint32_t maxGroupCount) {
    const double affordable = maxOperations / std::max(operations, 1.0);
    const auto items = static_cast<uint32_t>(std::clamp(affordable, 1.0, static_cast<double>(maxGroupCount)));
    constexpr auto wave = static_cast<uint32_t>(multiprocessors);
    return items < wave ? items : items / wave * wave;
}

} // namespace vkf
