// SPDX-License-Identifier: MIT
//
// A plan as text: every field that recording or vkfGetPlanInfo reads, one a line.
#pragma once

#include <string>

#include "planning/backward/backward_plan.hpp"
#include "planning/plan.hpp"
#include "tiles/merge_tile.hpp"

namespace vkf::test {

std::string textOf(const AttentionPlan& plan);
std::string textOf(const BackwardPlan& plan);
std::string textOf(const MergeTile& tile);

} // namespace vkf::test
