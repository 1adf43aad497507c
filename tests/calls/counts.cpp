// SPDX-License-Identifier: MIT
#include "calls/counts.hpp"

#include <algorithm>
#include <string_view>

#include <catch2/catch_test_macros.hpp>

#include "calls/fake_launches.hpp"

namespace vkf::test {
namespace {

FakeRecord record;

// Handles that nothing looks behind.
template <typename Handle> Handle fakeHandle() {
    return reinterpret_cast<Handle>(uintptr_t{0x1000}); // NOLINT(performance-no-int-to-ptr): not an address
}

VKAPI_ATTR void VKAPI_CALL bind(VkCommandBuffer, VkPipelineBindPoint, VkPipeline) {}
VKAPI_ATTR void VKAPI_CALL push(VkCommandBuffer, VkPipelineLayout, VkShaderStageFlags, uint32_t, uint32_t,
                                const void*) {}
VKAPI_ATTR void VKAPI_CALL dispatch(VkCommandBuffer, uint32_t x, uint32_t y, uint32_t z) {
    constexpr uint32_t most = 65535; // of every device
    record.dispatches++;
    record.endsWithFullBarrier = false;
    record.emptyDispatch = record.emptyDispatch || std::min({x, y, z}) == 0 || std::max({x, y, z}) > most;
}
// NOLINTNEXTLINE(readability-function-size): the parameters are Vulkan's
VKAPI_ATTR void VKAPI_CALL barrier(VkCommandBuffer, VkPipelineStageFlags before, VkPipelineStageFlags after,
                                   VkDependencyFlags, uint32_t, const VkMemoryBarrier* memory, uint32_t,
                                   const VkBufferMemoryBarrier*, uint32_t, const VkImageMemoryBarrier*) {
    constexpr VkAccessFlags all = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
    const bool full = before == VK_PIPELINE_STAGE_ALL_COMMANDS_BIT && after == VK_PIPELINE_STAGE_ALL_COMMANDS_BIT &&
                      memory->srcAccessMask == all && memory->dstAccessMask == all;
    record.fullBarriers += full ? 1 : 0;
    record.beginsWithFullBarrier = record.beginsWithFullBarrier || (full && record.dispatches == 0);
    record.endsWithFullBarrier = full;
}
VKAPI_ATTR VkResult VKAPI_CALL createModule(VkDevice, const VkShaderModuleCreateInfo*, const VkAllocationCallbacks*,
                                            VkShaderModule* module) {
    *module = fakeHandle<VkShaderModule>();
    return VK_SUCCESS;
}
VKAPI_ATTR void VKAPI_CALL destroyModule(VkDevice, VkShaderModule, const VkAllocationCallbacks*) {}
VKAPI_ATTR VkResult VKAPI_CALL createPipelines(VkDevice, VkPipelineCache, uint32_t count,
                                               const VkComputePipelineCreateInfo*, const VkAllocationCallbacks*,
                                               VkPipeline* pipelines) {
    std::fill_n(pipelines, count, fakeHandle<VkPipeline>());
    return VK_SUCCESS;
}
VKAPI_ATTR void VKAPI_CALL destroyPipeline(VkDevice, VkPipeline, const VkAllocationCallbacks*) {}
VKAPI_ATTR void VKAPI_CALL destroyLayout(VkDevice, VkPipelineLayout, const VkAllocationCallbacks*) {}

DeviceFunctions fakeFunctions() {
    DeviceFunctions functions;
    functions.vkCmdBindPipeline = bind;
    functions.vkCmdPushConstants = push;
    functions.vkCmdDispatch = dispatch;
    functions.vkCmdPipelineBarrier = barrier;
    functions.vkCreateShaderModule = createModule;
    functions.vkDestroyShaderModule = destroyModule;
    functions.vkCreateComputePipelines = createPipelines;
    functions.vkDestroyPipeline = destroyPipeline;
    functions.vkDestroyPipelineLayout = destroyLayout;
    FakeLaunches::addTo(&functions);
    return functions;
}

} // namespace

FakeContext::FakeContext(const Caps& caps, VkfDebug debug)
    : context_(
          [&] {
              VkfContextCreateInfo info{};
              info.debug = debug;
              return info;
          }(),
          caps, {}, fakeFunctions(), FakeLaunches::texts()) {}

VkCommandBuffer FakeContext::commandBuffer() { return fakeHandle<VkCommandBuffer>(); }

FakeRecord FakeContext::takeRecord() {
    const FakeRecord taken = record;
    record = {};
    return taken;
}

// Few assertions, because millions of them take minutes.
void checkResult(VkfResult result, const VkfMessage& message) {
    const std::string_view text(message.text);
    const bool refusal = result == VKF_ERROR_INVALID_ARGUMENT || result == VKF_ERROR_UNSUPPORTED;
    if (result == VKF_SUCCESS ? !text.empty() : !refusal || text.size() < 10) {
        INFO(message.text);
        FAIL_CHECK("result " << result);
    }
}

} // namespace vkf::test
