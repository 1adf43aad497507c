// SPDX-License-Identifier: MIT
#pragma once

#include <vkflash/vkflash.h>

#include "calls/object_context.hpp"
#include "pipelines/variant.hpp"
#include "shared/merge_params.h"

namespace vkf {

// How the tensors of a merge lie in memory, defaults filled in.
struct MergeLayouts {
    VkfTensorLayout partial;
    VkfTensorLayout o;
    VkfMergeLayout all; // the partial results together
};

} // namespace vkf

// Immutable after creation, so that any number of threads may record it.
struct VkfMerge_T {
    vkf::ObjectContext context;
    vkf::MergeLayouts layout;
    bool lse;                        // lse is an output too
    bool base2;                      // each lse_k is a logarithm to base 2
    vkf::shared::MergeParams params; // without addresses
    uint32_t rowsOfWorkgroup;        // rows that one workgroup merges
    uint32_t columnsOfWorkgroup;     // columns that one workgroup merges
    VkPipeline pipeline;
};
