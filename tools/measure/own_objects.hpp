// SPDX-License-Identifier: MIT
//
// Objects of the program on an open device: contexts with their own pipeline cache or tuning, plans and backward
// passes.
#pragma once

#include <string_view>

#include "vkflash/host.hpp"
#include "vkflash/vkflash.hpp"

namespace vkf::tools {

// Throws ProgramError if the call failed.
void check(VkResult result, const char* call);

template <typename Function> Function load(const host::Device& device, const char* name) {
    return reinterpret_cast<Function>(device.getInstanceProcAddr()(device.instance(), name));
}

// A pipeline cache that is empty at first. Plans fill it.
class PipelineCache {
public:
    explicit PipelineCache(const host::Device& device);
    PipelineCache(const PipelineCache&) = delete;
    PipelineCache& operator=(const PipelineCache&) = delete;
    ~PipelineCache();

    VkPipelineCache handle() const { return cache_; }

private:
    const host::Device& device_;
    VkPipelineCache cache_ = VK_NULL_HANDLE;
};

// These functions throw host::Error if the library refuses.
Context createContext(const host::Device& device, const PipelineCache& cache, std::string_view tuning);
Plan createPlan(const Context& context, const VkfProblem& problem);
VkfPlanInfo planInfo(const Plan& plan);
Backward createBackward(VkfContext context, const VkfBackwardProblem& problem);
VkfBackwardInfo backwardInfo(const Backward& backward);

} // namespace vkf::tools
