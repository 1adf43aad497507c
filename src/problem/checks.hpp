// SPDX-License-Identifier: MIT
//
// The parts of checkProblem, each of one kind of field.
#pragma once

#include "problem/problem.hpp"

namespace vkf {

// That it is 0 or 1, in any problem.
VkfResult checkBoolean(VkfBool value, const char* name, VkfMessage* message);

VkfResult checkBooleans(const VkfProblem& p, VkfMessage* message);
VkfResult checkEnumerations(const VkfProblem& p, VkfMessage* message);
VkfResult checkNumbers(const VkfProblem& p, VkfMessage* message);

VkfResult checkDims(const VkfProblem& p, VkfMessage* message);
VkfResult checkShape(const VkfProblem& p, VkfMessage* message);

// The longest of packed sequences.
VkfResult checkSequences(const VkfProblem& p, VkfMessage* message);

// What the description has room for and this version cannot do.
VkfResult checkNotBuiltYet(const VkfProblem& p, VkfMessage* message);

// Types and strides of bias and boolean masks.
VkfResult checkBroadcast(const VkfProblem& p, VkfMessage* message);

VkfResult checkBlockMask(const VkfProblem& p, VkfMessage* message);

// The problem must have passed checkBlockMask. All zeros without a block mask.
VkfBlockMaskLayout blockMaskLayout(const VkfProblem& p);

// The window of checked->given, with causal folded in.
void foldWindow(CheckedProblem* checked);

// All four with strides and reach.
VkfResult layOutTensors(const VkfProblem& p, Layouts* layouts, VkfMessage* message);

} // namespace vkf
