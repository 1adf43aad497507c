// SPDX-License-Identifier: MIT
//
// The type of cooperative matrices, and why they cannot be used.
#pragma once

#include "device/caps.hpp"
#include "problem/problem.hpp"

namespace vkf {

// The type of the matrices on which the problem could be done. It is the type of q, unless q is fp32.
VkfType matrixType(const VkfProblem& problem);

// Why a device makes no products of matrices of a 16-bit type, or null.
const char* matrixObstacle(const Caps& caps, VkfType type);

// Why the device cannot do the problem on cooperative matrices, or null.
const char* matrixObstacle(const Caps& caps, const CheckedProblem& problem);

} // namespace vkf
