// SPDX-License-Identifier: MIT
//
// Why cooperative matrices cannot be used.
#pragma once

#include "device/caps.hpp"
#include "problem/problem.hpp"

namespace vkf {

// Why a device makes no products of matrices of a 16-bit type, or null.
const char* matrixObstacle(const Caps& caps, VkfType type);

// Why the device cannot do the problem on cooperative matrices, or null.
const char* matrixObstacle(const Caps& caps, const CheckedProblem& problem);

} // namespace vkf
