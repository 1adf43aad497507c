// SPDX-License-Identifier: MIT
//
// The phases of each path, and what several paths share. Each fails with a sentence where the device cannot do it.
#pragma once

#include <cstdint>

#include "schedule/builder.hpp"

namespace vkf {

VkfResult scheduleScalar(const TunedDevice& device, const CheckedProblem& problem, ScheduleBuilder& builder,
                         VkfMessage* message);
VkfResult scheduleCoopmat(const TunedDevice& device, const CheckedProblem& problem, ScheduleBuilder& builder,
                          VkfMessage* message);
VkfResult scheduleDecode(const TunedDevice& device, const CheckedProblem& problem, ScheduleBuilder& builder,
                         VkfMessage* message);
VkfResult scheduleStandard(const TunedDevice& device, const CheckedProblem& problem, ScheduleBuilder& builder,
                           VkfMessage* message);

// Two phases in the loop order of FlashAttention's first version: a pass for each tile of keys, then the division by
// l.
VkfResult scheduleKeyOuter(const TunedDevice& device, const CheckedProblem& problem, ScheduleBuilder& builder,
                           VkfMessage* message);

// Adds the phase that makes the weights from lse, behind those of the path, where these do not write them.
VkfResult scheduleWeights(const Caps& caps, const CheckedProblem& problem, ScheduleBuilder& builder,
                          VkfMessage* message);

// Sets the tile of the portable kernels. Fills *splits, unless null: into how many parts path scalar splits the keys.
VkfResult setScalarTile(const TunedDevice& device, const CheckedProblem& problem, ScheduleBuilder& builder,
                        VkfMessage* message, uint32_t* splits = nullptr);

// Adds the phases of a fused path: one, or two where it splits the keys; none if the output is empty.
VkfResult scheduleFused(const Caps& caps, Kernel kernel, uint32_t splits, const CheckedProblem& problem,
                        ScheduleBuilder& builder, VkfMessage* message);

} // namespace vkf
