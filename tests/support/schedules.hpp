// SPDX-License-Identifier: MIT
//
// Schedules for a described device.
#pragma once

#include "schedule/schedule.hpp"

namespace vkf::test {

// Fails the test if there is no schedule.
Schedule schedule(const Caps& caps, const VkfProblem& problem);

// The result of the request, with its text in *message.
VkfResult refusal(const Caps& caps, const VkfProblem& problem, VkfMessage* message);

} // namespace vkf::test
