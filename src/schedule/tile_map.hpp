// SPDX-License-Identifier: MIT
//
// The map of tiles that masks leave open (shaders/masks/tile_map.glsl): whether a call has one, and the phase that
// makes it.
#pragma once

#include "device/caps.hpp"
#include "problem/problem.hpp"
#include "schedule/schedule.hpp"

namespace vkf {

// Puts the phase that makes the map before the others, tells the first of them that there is one, and makes room behind
// the rest of the scratch. Nothing where no mask is asked key by key, or the path looks at every key anyway.
void addTileMap(const Caps& caps, const CheckedProblem& problem, Schedule* schedule);

} // namespace vkf
