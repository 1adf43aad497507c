// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include <vkflash/vkflash.h>

#include "problem/gradient.hpp"
#include "schedule/gradient/gradient.hpp"

// Immutable after creation, so that any number of threads may record it.
struct VkfGradient_T {
    VkfContext context = nullptr;
    vkf::CheckedGradient problem{};
    vkf::GradientSchedule schedule;
    std::vector<VkPipeline> pipelines; // one for each phase
};
