// SPDX-License-Identifier: MIT
//
// The order in which workgroups take the tiles of a fused path.
#pragma once

#include <cstdint>

#include "device/caps.hpp"
#include "planning/decision.hpp"
#include "problem/problem.hpp"

namespace vkf {

// How many heads take turns with their tiles: several, if tiles differ in the number of keys that they see. The kernels
// take the longest tiles of each head first. 1 = one head after the other.
uint32_t interleavedHeads(const Caps& caps, const CheckedProblem& problem, const Decision& decision);

} // namespace vkf
