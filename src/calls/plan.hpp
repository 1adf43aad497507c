// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include <vkflash/vkflash.h>

#include "calls/object_context.hpp"
#include "problem/problem.hpp"
#include "schedule/schedule.hpp"

// Immutable after creation, so that any number of threads may record it.
struct VkfPlan_T {
    vkf::ObjectContext context;
    vkf::CheckedProblem problem;
    vkf::Schedule schedule;
    std::vector<VkPipeline> pipelines; // one for each phase
};
