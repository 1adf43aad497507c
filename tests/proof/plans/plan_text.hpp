// SPDX-License-Identifier: MIT
//
// A plan as text: every field that recording or vkfGetPlanInfo reads, one a line.
#pragma once

#include <string>

#include "schedule/gradient/gradient.hpp"
#include "schedule/schedule.hpp"
#include "tiles/merge_tile.hpp"

namespace vkf::test {

std::string textOf(const Schedule& plan);
std::string textOf(const GradientSchedule& plan);
std::string textOf(const MergeTile& tile);

} // namespace vkf::test
