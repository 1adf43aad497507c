// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include <vkflash/vkflash.h>

#include "calls/object_context.hpp"
#include "pipelines/pipelines.hpp"
#include "planning/backward/backward_plan.hpp"
#include "problem/backward.hpp"

// Immutable after creation, so that any number of threads may record it.
struct VkfBackward_T : vkf::BackwardPlan {
    vkf::ObjectContext context;
    vkf::CheckedBackward problem{};
    std::vector<vkf::Executable> executables; // one for each phase
};
