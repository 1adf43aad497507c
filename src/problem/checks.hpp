// SPDX-License-Identifier: MIT
//
// The parts of checkProblem. Each part checks one kind of field and names the field that it refuses.
#pragma once

#include "problem/problem.hpp"

namespace vkf {

// Refuses a value other than 0 and 1.
VkfResult checkBoolean(VkfBool value, const char* name, VkfMessage* message);

VkfResult checkBooleans(const VkfProblem& p, VkfMessage* message);
VkfResult checkEnumerations(const VkfProblem& p, VkfMessage* message);
VkfResult checkNumbers(const VkfProblem& p, VkfMessage* message);

VkfResult checkDims(const VkfProblem& p, VkfMessage* message);
VkfResult checkShape(const VkfProblem& p, VkfMessage* message);

// The longest of packed sequences.
VkfResult checkSequences(const VkfProblem& p, VkfMessage* message);

// Refuses combinations of fields that this version cannot compute.
VkfResult checkNotBuiltYet(const VkfProblem& p, VkfMessage* message);

// Types and strides of bias and boolean masks.
VkfResult checkBroadcast(const VkfProblem& p, VkfMessage* message);

VkfResult checkBlockMask(const VkfProblem& p, VkfMessage* message);

// The window of checked->given, with causal folded in.
void foldWindow(CheckedProblem* checked);

// All four with strides and reach.
VkfResult layOutTensors(const VkfProblem& p, Layouts* layouts, VkfMessage* message);

} // namespace vkf
