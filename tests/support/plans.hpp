// SPDX-License-Identifier: MIT
//
// Plans for a described device.
#pragma once

#include "planning/plan.hpp"

namespace vkf::test {

// Fails the test if there is no plan.
AttentionPlan planOf(const Caps& caps, const VkfProblem& problem);

// The result of the request, with its text in *message.
VkfResult refusal(const Caps& caps, const VkfProblem& problem, VkfMessage* message);

} // namespace vkf::test
