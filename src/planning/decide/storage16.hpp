// SPDX-License-Identifier: MIT
//
// Attention on devices without 16-bit storage (storageBuffer16BitAccess). The kernels of paths scalar and key_outer are
// built without it too. They then move 16-bit elements four at once, in two words of 32 bits.
#pragma once

#include "device/caps.hpp"
#include "problem/problem.hpp"

namespace vkf {

// Fails if the path or a tensor of the problem needs 16-bit storage, and the device lacks it.
VkfResult checkStorage16(const Caps& caps, const CheckedProblem& problem, VkfPath path, VkfMessage* message);

// The alignment of q, k and v, and that of o, with which kernels without 16-bit storage move four elements at once. 1
// where the device has 16-bit storage.
uint32_t storage16InputAlignment(const Caps& caps, const CheckedProblem& problem);
uint32_t storage16OutputAlignment(const Caps& caps, const CheckedProblem& problem);

} // namespace vkf
