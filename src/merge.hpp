// SPDX-License-Identifier: MIT
#pragma once

#include <vkflash/vkflash.h>

#include "../shaders/shared/merge_params.h"
#include "variant.hpp"

// Immutable once created, so that any number of threads may record it.
struct VkfMerge_T {
    VkfContext context;
    VkfMergeLayout layout;
    bool lse;
    vkf::shared::MergeParams params;
    uint32_t rowsOfWorkgroup;
    uint32_t columnsOfWorkgroup;
    VkPipeline pipeline;
};
