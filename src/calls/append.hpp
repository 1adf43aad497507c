// SPDX-License-Identifier: MIT
#pragma once

#include <vkflash/vkflash.h>

#include "calls/object_context.hpp"
#include "pipelines/variant.hpp"
#include "problem/append_problem.hpp"
#include "shared/append_params.h"

namespace vkf {

// One dispatch. It moves k and v, or one of them, or q.
struct AppendDispatch {
    shared::AppendParams params{}; // without addresses
    VkPipeline pipeline = VK_NULL_HANDLE;
    uint32_t workgroups = 0; // 0 = there is nothing to do
    uint32_t tensors = 0;    // 2 for k and v, 1 for one tensor
};

} // namespace vkf

// Immutable after creation, so that any number of threads may record it.
struct VkfAppend_T {
    vkf::ObjectContext context;
    VkfAppendProblem problem{}; // defaults filled in
    vkf::AppendLayouts layouts{};

    const VkfTensorLayout& layout(VkfAppendRole role) const { return layouts[static_cast<size_t>(role)]; }
    vkf::AppendDispatch cache;           // k and v; k alone if one of them has scales
    vkf::AppendDispatch values;          // v, if one of them has scales; else without workgroups
    vkf::AppendDispatch query;           // q; without workgroups if the append has no queries
    VkPipeline advance = VK_NULL_HANDLE; // of vkfCmdAdvance
};
