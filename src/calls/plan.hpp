// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include <vkflash/vkflash.h>

#include "calls/object_context.hpp"
#include "pipelines/pipelines.hpp"
#include "planning/plan.hpp"
#include "problem/problem.hpp"

// Immutable after creation, so that any number of threads may record it.
struct VkfPlan_T : vkf::AttentionPlan {
    vkf::ObjectContext context;
    vkf::CheckedProblem problem;
    std::vector<vkf::Executable> executables;    // one for each phase
    std::vector<vkf::Executable> mapExecutables; // one for each of mapPhases
};
