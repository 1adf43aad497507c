// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include <vkflash/vkflash.h>

#include "calls/object_context.hpp"
#include "planning/plan.hpp"
#include "problem/problem.hpp"

// Immutable after creation, so that any number of threads may record it.
struct VkfPlan_T : vkf::AttentionPlan {
    vkf::ObjectContext context;
    vkf::CheckedProblem problem;
    std::vector<VkPipeline> pipelines; // one for each phase
};
