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
const char* whyNoMatrices(const Caps& caps, VkfType type);

// Why the device cannot do the problem on cooperative matrices of a 16-bit type of the problem, or null.
const char* whyNoMatrices(const Caps& caps, const CheckedProblem& problem);

// Whether path coopmat multiplies the problem's q, k and v as bf16x3: all of them are fp32
// (shaders/coopmat/bf16x3.glsl).
bool usesBf16x3(const VkfProblem& problem);

// The type of these parts.
VkfType bf16x3Type(const Caps& caps);

// Why path coopmat cannot do the problem on the device, or null.
const char* whyNotCoopmat(const Caps& caps, const CheckedProblem& problem);

// The matrices that path coopmat multiplies for the problem.
const MatrixLayout& coopmatMatrices(const Caps& caps, const VkfProblem& problem);

} // namespace vkf
