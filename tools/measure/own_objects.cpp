// SPDX-License-Identifier: MIT
#include "measure/own_objects.hpp"

#include <chrono>

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

CommandBuffer::CommandBuffer(const host::Device& device)
    : device_(device), reset_(load<PFN_vkResetCommandPool>(device, "vkResetCommandPool")),
      begin_(load<PFN_vkBeginCommandBuffer>(device, "vkBeginCommandBuffer")),
      end_(load<PFN_vkEndCommandBuffer>(device, "vkEndCommandBuffer")),
      submit_(load<PFN_vkQueueSubmit>(device, "vkQueueSubmit")),
      wait_(load<PFN_vkWaitForFences>(device, "vkWaitForFences")),
      resetFences_(load<PFN_vkResetFences>(device, "vkResetFences")) {
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
    check(reset_(device_.handle(), pool_, 0), "vkResetCommandPool");
    VkCommandBufferBeginInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    check(begin_(commands_, &info), "vkBeginCommandBuffer");
    return commands_;
}

void CommandBuffer::end() { check(end_(commands_), "vkEndCommandBuffer"); }

double CommandBuffer::submit() {
    using Clock = std::chrono::steady_clock;
    constexpr uint64_t timeoutNanoseconds = 60'000'000'000;
    VkSubmitInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    info.commandBufferCount = 1;
    info.pCommandBuffers = &commands_;
    const Clock::time_point start = Clock::now();
    const VkResult result = submit_(queue_, 1, &info, fence_);
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    check(result, "vkQueueSubmit");
    check(wait_(device_.handle(), 1, &fence_, VK_TRUE, timeoutNanoseconds), "vkWaitForFences");
    check(resetFences_(device_.handle(), 1, &fence_), "vkResetFences");
    return seconds;
}

} // namespace vkf::tools
