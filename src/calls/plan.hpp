// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include <vkflash/vkflash.h>

#include "problem/problem.hpp"
#include "schedule/schedule.hpp"

// Immutable after creation, so that any number of threads may record it.
struct VkfPlan_T {
    VkfContext context;
    vkf::CheckedProblem problem;
    vkf::Schedule schedule;
    std::vector<VkPipeline> pipelines; // one for each phase
};
