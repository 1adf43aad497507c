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

// Checks the longest rows and keys of packed sequences.
VkfResult checkSequences(const VkfProblem& p, VkfMessage* message);

// Refuses combinations of fields that this version cannot compute.
VkfResult checkNotBuiltYet(const VkfProblem& p, VkfMessage* message);

// Checks types and strides of bias and boolean masks.
VkfResult checkBroadcast(const VkfProblem& p, VkfMessage* message);

VkfResult checkBlockMask(const VkfProblem& p, VkfMessage* message);

// Fills in the window of *checked: that of checked->given, with causal folded in.
void foldWindow(CheckedProblem* checked);

// Fills in the layouts of q, k, v and o. Checks strides and the reach of each tensor.
VkfResult layOutTensors(const VkfProblem& p, Layouts* layouts, VkfMessage* message);

} // namespace vkf
