// SPDX-License-Identifier: MIT
#pragma once

#include <utility>
#include <vector>

#include "device/caps.hpp"
#include "device/functions.hpp"
#include "pipelines/pipelines.hpp"
#include "tiles/tuned_device.hpp"

struct VkfContext_T {
    VkfContext_T(const VkfContextCreateInfo& info, const vkf::Caps& enabled, std::vector<vkf::TuningEntry> entries,
                 const vkf::DeviceFunctions& loaded)
        : device(info.device), caps(enabled), tuning(std::move(entries)), functions(loaded),
          pipelines(functions, info.device, info.pipelineCache, info.allocator) {}

    vkf::TunedDevice tunedDevice() const { return {caps, tuning}; }

    VkDevice device;
    vkf::Caps caps;
    std::vector<vkf::TuningEntry> tuning; // for this device, in the order of the tuning data
    vkf::DeviceFunctions functions;
    vkf::Pipelines pipelines;
};
