// SPDX-License-Identifier: MIT
#pragma once

#include <vkflash/vkflash.h>

#include "pipelines/variant.hpp"
#include "shared/merge_params.h"

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
