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

CommandBuffer::CommandBuffer(const host::Device& device) : device_(device) {
    load<PFN_vkGetDeviceQueue>(device, "vkGetDeviceQueue")(device.handle(), device.queueFamily(), 0, &queue_);
    VkCommandPoolCreateInfo pool{};
    pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    pool.queueFamilyIndex = device.queueFamily();
    check(load<PFN_vkCreateCommandPool>(device, "vkCreateCommandPool")(device.handle(), &pool, nullptr, &pool_),
          "vkCreateCommandPool");
    VkCommandBufferAllocateInfo buffer{};
    buffer.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    buffer.commandPool = pool_;
    buffer.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    buffer.commandBufferCount = 1;
    const auto allocate = load<PFN_vkAllocateCommandBuffers>(device, "vkAllocateCommandBuffers");
    check(allocate(device.handle(), &buffer, &commands_), "vkAllocateCommandBuffers");
    VkFenceCreateInfo fence{};
    fence.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
    check(load<PFN_vkCreateFence>(device, "vkCreateFence")(device.handle(), &fence, nullptr, &fence_), "vkCreateFence");
}

CommandBuffer::~CommandBuffer() {
    load<PFN_vkDestroyFence>(device_, "vkDestroyFence")(device_.handle(), fence_, nullptr);
    load<PFN_vkDestroyCommandPool>(device_, "vkDestroyCommandPool")(device_.handle(), pool_, nullptr);
}

VkCommandBuffer CommandBuffer::begin() {
    check(load<PFN_vkResetCommandPool>(device_, "vkResetCommandPool")(device_.handle(), pool_, 0),
          "vkResetCommandPool");
    VkCommandBufferBeginInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    check(load<PFN_vkBeginCommandBuffer>(device_, "vkBeginCommandBuffer")(commands_, &info), "vkBeginCommandBuffer");
    return commands_;
}

void CommandBuffer::end() {
    check(load<PFN_vkEndCommandBuffer>(device_, "vkEndCommandBuffer")(commands_), "vkEndCommandBuffer");
}

void CommandBuffer::submit() {
    constexpr uint64_t timeoutNanoseconds = 60'000'000'000;
    VkSubmitInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    info.commandBufferCount = 1;
    info.pCommandBuffers = &commands_;
    check(load<PFN_vkQueueSubmit>(device_, "vkQueueSubmit")(queue_, 1, &info, fence_), "vkQueueSubmit");
    const auto wait = load<PFN_vkWaitForFences>(device_, "vkWaitForFences");
    check(wait(device_.handle(), 1, &fence_, VK_TRUE, timeoutNanoseconds), "vkWaitForFences");
    check(load<PFN_vkResetFences>(device_, "vkResetFences")(device_.handle(), 1, &fence_), "vkResetFences");
}

} // namespace vkf::tools
