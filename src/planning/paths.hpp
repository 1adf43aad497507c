// SPDX-License-Identifier: MIT
//
// The phases of each path, and what several paths share. Each function fails with a message where the device cannot run
// the path.
#pragma once

#include <cstdint>

#include "planning/builder.hpp"

namespace vkf {

VkfResult scheduleScalar(const TunedDevice& device, const CheckedProblem& problem, PlanBuilder& builder,
                         VkfMessage* message);
VkfResult scheduleCoopmat(const TunedDevice& device, const CheckedProblem& problem, PlanBuilder& builder,
                          VkfMessage* message);
VkfResult scheduleDecode(const TunedDevice& device, const CheckedProblem& problem, PlanBuilder& builder,
                         VkfMessage* message);
VkfResult scheduleStandard(const TunedDevice& device, const CheckedProblem& problem, PlanBuilder& builder,
                           VkfMessage* message);

// Adds two phases in the loop order of FlashAttention's first version: a pass for each tile of keys, then the division
// by l.
VkfResult scheduleKeyOuter(const TunedDevice& device, const CheckedProblem& problem, PlanBuilder& builder,
                           VkfMessage* message);

// Adds the phase that makes the probabilities from lse behind the phases of the path. Adds nothing where the path
// writes them itself.
VkfResult scheduleProbabilities(const Caps& caps, const CheckedProblem& problem, PlanBuilder& builder,
                                VkfMessage* message);

// Sets the tile of the portable kernels. Fills *splits with the key splits of path scalar, unless null.
VkfResult setScalarTile(const TunedDevice& device, const CheckedProblem& problem, PlanBuilder& builder,
                        VkfMessage* message, uint32_t* splits = nullptr);

// Adds the phases of a fused path: two where it splits the keys, otherwise one. Adds none if the output is empty.
VkfResult scheduleFused(const Caps& caps, Kernel kernel, uint32_t splits, const CheckedProblem& problem,
                        PlanBuilder& builder, VkfMessage* message);

} // namespace vkf
