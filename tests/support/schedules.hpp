// SPDX-License-Identifier: MIT
//
// Schedules for a described device, for tests of decisions.
#pragma once

#include "schedule/schedule.hpp"

namespace vkf::test {

// Fails the test where there is none.
Schedule schedule(const Caps& caps, const VkfProblem& problem);

// The result of asking for one, and in *message what was said.
VkfResult refusal(const Caps& caps, const VkfProblem& problem, VkfMessage* message);

} // namespace vkf::test
