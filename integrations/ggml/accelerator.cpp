// SPDX-License-Identifier: MIT
#include "accelerator.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "log.hpp"
#include "problem.hpp"

namespace vkf::ggml {
namespace {

constexpr size_t maxLoggedRefusals = 1000;

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
}

host::DeviceOptions options() {
    host::DeviceOptions options;
    options.select = variable("VKFLASH_GGML_DEVICE");
    options.validation = variable("VKFLASH_GGML_VALIDATION") == "1";
    options.onValidationMessage = [](const std::string& text) { log(GGML_LOG_LEVEL_ERROR, "validation: " + text); };
    return options;
}

// The shape of a tensor, as test-backend-ops writes it.
std::string shapeText(const ggml_tensor* tensor) {
    if (tensor == nullptr) {
        return "none";
    }
    std::string text = std::string(ggml_type_name(tensor->type)) + "[";
    for (const int64_t n : tensor->ne) {
        text += std::to_string(n) + ",";
    }
    text.back() = ']';
    return text;
}

} // namespace

Accelerator::Accelerator()
    : device_(options()), functions_(device_), description_(summary().name + " (" + summary().driver + ")"),
      logsEachRefusal_(variable("VKFLASH_GGML_REFUSALS") == "all") {
    functions_.GetDeviceQueue(handle(), queueFamily(), 0, &queue_);
    findLargestBuffer();
}

void Accelerator::findLargestBuffer() {
    VkPhysicalDeviceMaintenance4Properties buffers{};
    buffers.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES;
    VkPhysicalDeviceMaintenance3Properties allocations{};
    allocations.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES;
    allocations.pNext = summary().apiVersion >= VK_API_VERSION_1_3 ? &buffers : nullptr;
    VkPhysicalDeviceProperties2 properties{};
    properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    properties.pNext = &allocations;
    functions_.GetPhysicalDeviceProperties2(device_.physicalDevice(), &properties);
    largestBuffer_ = allocations.maxMemoryAllocationSize;
    if (buffers.maxBufferSize != 0) {
        largestBuffer_ = std::min<uint64_t>(largestBuffer_, buffers.maxBufferSize);
    }
}

std::string Accelerator::refusal(const ggml_tensor& node) {
    NodeProblem asked;
    std::string reason = describe(node, &asked);
    if (reason.empty()) {
        VkfMessage message{};
        if (vkfCheckSupport(context(), &asked.problem, &message) != VKF_SUCCESS) {
            reason = message.text;
        }
    }
    if (!reason.empty()) {
        logRefusal(node, reason);
    }
    return reason;
}

void Accelerator::logRefusal(const ggml_tensor& node, const std::string& reason) {
    const std::lock_guard lock(refusalMutex_);
    const bool isNew = refusals_.size() < maxLoggedRefusals && refusals_.insert(reason).second;
    if (isNew || logsEachRefusal_) {
        log(GGML_LOG_LEVEL_DEBUG, "not supported: " + reason + " (q " + shapeText(node.src[sourceQ]) + ", k " +
                                      shapeText(node.src[sourceK]) + ", v " + shapeText(node.src[sourceV]) + ", mask " +
                                      shapeText(node.src[sourceMask]) + ")");
    }
}

host::Buffer Accelerator::newBuffer(uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    return device_.createBuffer(bytes);
}

void Accelerator::deleteBuffer(host::Buffer&& buffer) {
    const std::lock_guard lock(mutex_);
    const host::Buffer gone = std::move(buffer);
}

void Accelerator::upload(const host::Buffer& to, const void* from, uint64_t bytes, uint64_t offset) {
    const std::lock_guard lock(mutex_);
    device_.upload(to, from, bytes, offset);
}

void Accelerator::download(void* to, const host::Buffer& from, uint64_t bytes, uint64_t offset) {
    const std::lock_guard lock(mutex_);
    device_.download(to, from, bytes, offset);
}

// Vulkan fills words of 4 bytes. The bytes before and behind them are uploaded.
void Accelerator::fill(const host::Buffer& buffer, uint8_t value, uint64_t bytes, uint64_t offset) {
    constexpr uint64_t word = 4;
    const std::array<uint8_t, word> edge = {value, value, value, value};
    const uint64_t end = offset + bytes;
    const uint64_t firstWord = std::min((offset + word - 1) / word * word, end);
    const uint64_t lastWord = std::max(end / word * word, firstWord);
    const std::lock_guard lock(mutex_);
    device_.upload(buffer, edge.data(), firstWord - offset, offset);
    if (lastWord > firstWord) {
        device_.submit([&](VkCommandBuffer commands) {
            functions_.CmdFillBuffer(commands, buffer.handle(), firstWord, lastWord - firstWord, value * 0x01010101U);
        });
    }
    device_.upload(buffer, edge.data(), end - lastWord, lastWord);
}

void Accelerator::submit(VkCommandBuffer commands, VkFence fence) {
    VkSubmitInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    info.commandBufferCount = 1;
    info.pCommandBuffers = &commands;
    const std::lock_guard lock(mutex_);
    check(functions_.QueueSubmit(queue_, 1, &info, fence), "vkQueueSubmit");
}

uint64_t Accelerator::memory() const {
    uint64_t bytes = 0;
    for (const host::MemoryHeap& heap : summary().heaps) {
        bytes = heap.deviceLocal ? std::max(bytes, heap.bytes) : bytes;
    }
    return bytes;
}

uint64_t Accelerator::memoryInUse() {
    const std::lock_guard lock(mutex_);
    return device_.bytesInUse();
}

} // namespace vkf::ggml
