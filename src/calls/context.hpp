// SPDX-License-Identifier: MIT
#pragma once

#include <utility>

#include "calls/object_context.hpp"
#include "device/caps.hpp"
#include "device/vulkan_functions.hpp"
#include "pipelines/pipelines.hpp"
#include "tiles/tuned_device.hpp"

struct VkfContext_T {
    VkfContext_T(const VkfContextCreateInfo& info, const vkf::Caps& enabled, vkf::TuningData data,
                 const vkf::DeviceFunctions& loaded, const vkf::PtxTexts& texts = vkf::builtPtxTexts())
        : device(info.device), debug(info.debug), objects(vkf::countsObjects(info.debug)), caps(enabled),
          tuning(std::move(data)), functions(loaded),
          pipelines(functions, info.device, info.pipelineCache, info.allocator, enabled.quirks, texts) {}

    vkf::TunedDevice tunedDevice() const { return {caps, tuning.entries, pipelines.whyNoLaunches()}; }

    VkDevice device;
    VkfDebug debug;
    vkf::LivingObjects objects;
    vkf::Caps caps;
    vkf::TuningData tuning; // for this device
    vkf::DeviceFunctions functions;
    vkf::Pipelines pipelines;
};
