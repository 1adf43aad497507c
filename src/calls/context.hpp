// SPDX-License-Identifier: MIT
#pragma once

#include "device/caps.hpp"
#include "device/functions.hpp"
#include "pipelines/pipelines.hpp"

struct VkfContext_T {
    VkfContext_T(const VkfContextCreateInfo& info, const vkf::Caps& enabled, const vkf::DeviceFunctions& loaded)
        : device(info.device), caps(enabled), functions(loaded),
          pipelines(functions, info.device, info.pipelineCache, info.allocator) {}

    VkDevice device;
    vkf::Caps caps;
    vkf::DeviceFunctions functions;
    vkf::Pipelines pipelines;
};
