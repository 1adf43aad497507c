// SPDX-License-Identifier: MIT
#include "measure/own_objects.hpp"

#include "cli/error.hpp"

namespace vkf::tools {

void check(VkResult result, const char* call) {
    if (result != VK_SUCCESS)
        fail("{} failed: VkResult {}", call, static_cast<int>(result));
}

PipelineCache::PipelineCache(const host::Device& device) : device_(device) {
    VkPipelineCacheCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
    check(load<PFN_vkCreatePipelineCache>(device, "vkCreatePipelineCache")(device.handle(), &info, nullptr, &cache_),
          "vkCreatePipelineCache");
}

PipelineCache::~PipelineCache() {
    load<PFN_vkDestroyPipelineCache>(device_, "vkDestroyPipelineCache")(device_.handle(), cache_, nullptr);
}

Context createContext(const host::Device& device, const PipelineCache& cache, std::string_view tuning) {
    auto info = make<VkfContextCreateInfo>();
    info.getInstanceProcAddr = device.getInstanceProcAddr();
    info.instance = device.instance();
    info.physicalDevice = device.physicalDevice();
    info.device = device.handle();
    info.features = device.summary().features;
    info.quirks = device.quirks();
    info.pipelineCache = cache.handle();
    info.tuning = tuning.data();
    info.tuningBytes = tuning.size();
    info.matrixLayouts = device.matrixLayouts().data();
    info.matrixLayoutCount = device.matrixLayouts().size();
    Context context;
    requireSuccess(vkfCreateContext, &info, context.put());
    return context;
}

Plan createPlan(const Context& context, const VkfProblem& problem) {
    Plan plan;
    requireSuccess(vkfCreatePlan, context.get(), &problem, plan.put());
    return plan;
}

VkfPlanInfo planInfo(const Plan& plan) {
    auto info = make<VkfPlanInfo>();
    requireSuccess(vkfGetPlanInfo, plan.get(), &info);
    return info;
}

Backward createBackward(VkfContext context, const VkfBackwardProblem& problem) {
    Backward backward;
    requireSuccess(vkfCreateBackward, context, &problem, backward.put());
    return backward;
}

VkfBackwardInfo backwardInfo(const Backward& backward) {
    auto info = make<VkfBackwardInfo>();
    requireSuccess(vkfGetBackwardInfo, backward.get(), &info);
    return info;
}

} // namespace vkf::tools
