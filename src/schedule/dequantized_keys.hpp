// SPDX-License-Identifier: MIT
//
// Path coopmat with k and v of block types: the phase that converts them to the type of the matrices before attention
// (shaders/coopmat/dequantize_keys.comp). The attention kernel then reads dense 16-bit tensors in scratch memory.
#pragma once

#include "device/caps.hpp"
#include "problem/problem.hpp"
#include "schedule/builder.hpp"

namespace vkf {

// Whether path coopmat converts k and v before attention. Depends on the problem alone.
bool dequantizesKeys(const CheckedProblem& problem);

// The problem that the attention kernel then computes: k and v are dense, of the type of the matrices, without pages.
CheckedProblem dequantizedProblem(const CheckedProblem& problem);

// Adds the phase before all others and reserves its memory, if the schedule has dequantized keys. The first phase must
// be attention or the map of tiles, which the new phase does not wait for.
VkfResult addDequantizedKeys(const Caps& caps, const CheckedProblem& problem, ScheduleBuilder& builder,
                             Schedule* schedule, VkfMessage* message);

} // namespace vkf
