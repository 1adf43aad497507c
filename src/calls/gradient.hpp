// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include <vkflash/vkflash.h>

#include "planning/gradient/gradient.hpp"
#include "problem/gradient.hpp"

// Immutable after creation, so that any number of threads may record it.
struct VkfGradient_T : vkf::GradientPlan {
    VkfContext context = nullptr;
    vkf::CheckedGradient problem{};
    std::vector<VkPipeline> pipelines; // one for each phase
};
