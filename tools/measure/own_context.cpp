// SPDX-License-Identifier: MIT
#include "measure/own_context.hpp"

#include "cli/error.hpp"

namespace vkf::tools {

void check(VkfResult result, const VkfMessage& message) {
    if (result != VKF_SUCCESS)
        throw host::Error(result, message.text);
}

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
    VkfMessage message{};
    Context context;
    check(vkfCreateContext(&info, context.put(), &message), message);
    return context;
}

Plan createPlan(const Context& context, const VkfProblem& problem) {
    VkfMessage message{};
    Plan plan;
    check(vkfCreatePlan(context.get(), &problem, plan.put(), &message), message);
    return plan;
}

VkfPlanInfo planInfo(const Plan& plan) {
    auto info = make<VkfPlanInfo>();
    VkfMessage message{};
    check(vkfGetPlanInfo(plan.get(), &info, &message), message);
    return info;
}

} // namespace vkf::tools
