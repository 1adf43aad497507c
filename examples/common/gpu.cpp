// SPDX-License-Identifier: MIT
#include "gpu.hpp"

#include <stdexcept>
#include <string>
#include <vector>

#include "program.hpp"

namespace {

constexpr size_t memoryBytes = 64 << 20;

void check(VkResult result, const char* call) {
    if (result != VK_SUCCESS) {
        throw std::runtime_error(std::string(call) + " returned " + std::to_string(result));
    }
}

uint32_t findMemoryType(VkPhysicalDevice device, uint32_t allowed) {
    constexpr VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    VkPhysicalDeviceMemoryProperties memory{};
    vkGetPhysicalDeviceMemoryProperties(device, &memory);
    for (uint32_t i = 0; i < memory.memoryTypeCount; i++) {
        if ((allowed >> i & 1) != 0 && (memory.memoryTypes[i].propertyFlags & wanted) == wanted) {
            return i;
        }
    }
    throw std::runtime_error("no host-visible memory");
}

uint32_t findComputeFamily(VkPhysicalDevice device) {
    uint32_t count = 0;
    vkGetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
    std::vector<VkQueueFamilyProperties> families(count);
    vkGetPhysicalDeviceQueueFamilyProperties(device, &count, families.data());
    for (uint32_t i = 0; i < count; i++) {
        if ((families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) != 0) {
            return i;
        }
    }
    throw std::runtime_error("no compute queue");
}

} // namespace

Gpu::Gpu() {
    check(volkInitialize(), "volkInitialize");
    VkApplicationInfo application{};
    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.apiVersion = VK_API_VERSION_1_3;
    VkInstanceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    info.pApplicationInfo = &application;
    check(vkCreateInstance(&info, nullptr, &instance_), "vkCreateInstance");
    volkLoadInstance(instance_);
    uint32_t one = 1;
    const VkResult result = vkEnumeratePhysicalDevices(instance_, &one, &physicalDevice_);
    if ((result != VK_SUCCESS && result != VK_INCOMPLETE) || one == 0) {
        throw std::runtime_error("no Vulkan device");
    }
    createDevice();
    createMemory();
    createCommands();
}

// This is the only part of the engine's set-up that knows vkflash. It asks which features and extensions to enable.
void Gpu::createDevice() {
    auto query = vkf::make<VkfDeviceQuery>();
    query.getInstanceProcAddr = vkGetInstanceProcAddr;
    query.instance = instance_;
    query.physicalDevice = physicalDevice_;
    auto requirements = vkf::make<VkfDeviceRequirements>();
    VkfMessage message{};
    check(vkfGetDeviceRequirements(&query, &requirements, &message), message);
    features_ = requirements.usableFeatures;

    queueFamily_ = findComputeFamily(physicalDevice_);
    const float priority = 1.0F;
    VkDeviceQueueCreateInfo queue{};
    queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    queue.queueFamilyIndex = queueFamily_;
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    VkDeviceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    info.pNext = requirements.features;
    info.queueCreateInfoCount = 1;
    info.pQueueCreateInfos = &queue;
    info.enabledExtensionCount = requirements.extensionCount;
    info.ppEnabledExtensionNames = requirements.extensions;
    const VkResult result = vkCreateDevice(physicalDevice_, &info, nullptr, &device_);
    vkfFreeDeviceRequirements(&requirements);
    check(result, "vkCreateDevice");
    volkLoadDevice(device_);
    vkGetDeviceQueue(device_, queueFamily_, 0, &queue_);
}

void Gpu::createMemory() {
    VkBufferCreateInfo bufferInfo{};
    bufferInfo.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    bufferInfo.size = memoryBytes;
    bufferInfo.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
    check(vkCreateBuffer(device_, &bufferInfo, nullptr, &buffer_), "vkCreateBuffer");
    VkMemoryRequirements needs{};
    vkGetBufferMemoryRequirements(device_, buffer_, &needs);

    VkMemoryAllocateFlagsInfo flags{};
    flags.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO;
    flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
    VkMemoryAllocateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    info.pNext = &flags;
    info.allocationSize = needs.size;
    info.memoryTypeIndex = findMemoryType(physicalDevice_, needs.memoryTypeBits);
    check(vkAllocateMemory(device_, &info, nullptr, &memory_), "vkAllocateMemory");
    check(vkBindBufferMemory(device_, buffer_, memory_, 0), "vkBindBufferMemory");
    void* mapped = nullptr;
    check(vkMapMemory(device_, memory_, 0, VK_WHOLE_SIZE, 0, &mapped), "vkMapMemory");
    mapped_ = static_cast<std::byte*>(mapped);
    VkBufferDeviceAddressInfo addressInfo{};
    addressInfo.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO;
    addressInfo.buffer = buffer_;
    address_ = vkGetBufferDeviceAddress(device_, &addressInfo);
}

void Gpu::createCommands() {
    VkCommandPoolCreateInfo poolInfo{};
    poolInfo.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    poolInfo.queueFamilyIndex = queueFamily_;
    check(vkCreateCommandPool(device_, &poolInfo, nullptr, &pool_), "vkCreateCommandPool");
    VkFenceCreateInfo fenceInfo{};
    fenceInfo.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
    check(vkCreateFence(device_, &fenceInfo, nullptr, &fence_), "vkCreateFence");
}

Gpu::~Gpu() {
    vkDestroyFence(device_, fence_, nullptr);
    vkDestroyCommandPool(device_, pool_, nullptr);
    vkDestroyBuffer(device_, buffer_, nullptr);
    vkFreeMemory(device_, memory_, nullptr);
    vkDestroyDevice(device_, nullptr);
    vkDestroyInstance(instance_, nullptr);
}

Allocation Gpu::allocate(size_t bytes) {
    const size_t offset = (used_ + 255) / 256 * 256;
    if (offset + bytes > memoryBytes) {
        throw std::runtime_error("the engine's memory is used up");
    }
    used_ = offset + bytes;
    return {address_ + offset, mapped_ + offset};
}

void Gpu::frame(const std::function<void(VkCommandBuffer)>& commands) {
    const VkCommandBuffer commandBuffer = record(commands);
    submit(commandBuffer);
    vkFreeCommandBuffers(device_, pool_, 1, &commandBuffer);
}

VkCommandBuffer Gpu::record(const std::function<void(VkCommandBuffer)>& commands) {
    VkCommandBufferAllocateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    info.commandPool = pool_;
    info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    info.commandBufferCount = 1;
    VkCommandBuffer commandBuffer = VK_NULL_HANDLE;
    check(vkAllocateCommandBuffers(device_, &info, &commandBuffer), "vkAllocateCommandBuffers");
    VkCommandBufferBeginInfo begin{};
    begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    check(vkBeginCommandBuffer(commandBuffer, &begin), "vkBeginCommandBuffer");
    VkMemoryBarrier barrier{};
    barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
    barrier.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
    vkCmdPipelineBarrier(commandBuffer, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0,
                         1, &barrier, 0, nullptr, 0, nullptr);
    commands(commandBuffer);
    barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
    vkCmdPipelineBarrier(commandBuffer, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1,
                         &barrier, 0, nullptr, 0, nullptr);
    check(vkEndCommandBuffer(commandBuffer), "vkEndCommandBuffer");
    return commandBuffer;
}

void Gpu::submit(VkCommandBuffer commandBuffer) {
    VkSubmitInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    info.commandBufferCount = 1;
    info.pCommandBuffers = &commandBuffer;
    check(vkQueueSubmit(queue_, 1, &info, fence_), "vkQueueSubmit");
    check(vkWaitForFences(device_, 1, &fence_, VK_TRUE, UINT64_MAX), "vkWaitForFences");
    check(vkResetFences(device_, 1, &fence_), "vkResetFences");
}

vkf::Context createContext(const Gpu& gpu) {
    auto info = vkf::make<VkfContextCreateInfo>();
    info.getInstanceProcAddr = vkGetInstanceProcAddr;
    info.instance = gpu.instance();
    info.physicalDevice = gpu.physicalDevice();
    info.device = gpu.device();
    info.features = gpu.features();
    vkf::Context context;
    VkfMessage message{};
    check(vkfCreateContext(&info, context.put(), &message), message);
    return context;
}
