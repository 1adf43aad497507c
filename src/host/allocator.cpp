// SPDX-License-Identifier: MIT
#include "host/allocator.hpp"

#include <algorithm>
#include <array>

#include "host/error.hpp"

// VMA goes into an unnamed namespace, so that it cannot clash with a VMA of any version that the application links. The
// headers that VMA includes must then be included before it.
#include <atomic>
#include <cassert>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <type_traits>
#include <utility>
#include <version>
#if defined(__cpp_lib_bit_ops)
#include <bit>
#endif
#ifdef _MSC_VER
#include <intrin.h>
#endif
#ifdef __APPLE__
#include <AvailabilityMacros.h>
#endif
#include <vulkan/vulkan.h>

#define VMA_IMPLEMENTATION
#define VMA_CALL_PRE static
#define VMA_STATIC_VULKAN_FUNCTIONS 0
#define VMA_DYNAMIC_VULKAN_FUNCTIONS 1
#define VMA_STATS_STRING_ENABLED 0
#define VMA_EXTERNAL_MEMORY_WIN32 0 // the only part of VMA that needs headers of Windows
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function" // most of VMA's functions are not called here
#endif
namespace {
#include <vk_mem_alloc.h>
}
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

namespace vkf::host {
namespace {

constexpr VkDeviceSize addressAlignment = 256;              // promised in host.hpp
constexpr VkDeviceSize blockBytes = VkDeviceSize{64} << 20; // memory of VMA; larger buffers get their own

constexpr VkBufferUsageFlags bufferUsage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                           VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;

VmaAllocationCreateInfo allocationInfo(Memory memory, bool hasMemoryBudget) {
    VmaAllocationCreateInfo info{};
    if (memory == Memory::staging) {
        // Coherent, because users of a mapped pointer have no way to flush it.
        info.requiredFlags = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
        info.preferredFlags = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
        info.flags = VMA_ALLOCATION_CREATE_MAPPED_BIT;
    } else {
        info.requiredFlags = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
    }
    if (hasMemoryBudget) {
        // Some drivers do not refuse memory that they do not have, but page, or end the process.
        info.flags |= VMA_ALLOCATION_CREATE_WITHIN_BUDGET_BIT;
    }
    return info;
}

} // namespace

struct Allocator::State {
    std::string deviceName;
    bool hasMemoryBudget = false;
    VkDeviceSize maxBufferBytes = UINT64_MAX;
    std::array<uint32_t, 2> heaps{}; // indexed by Memory
    VmaAllocator vma = nullptr;

    State() = default;
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State() { vmaDestroyAllocator(vma); }

    void create(const Instance& instance, const LogicalDevice& device);
    void findHeap(Memory memory);
    VkDeviceSize heapBytes(Memory memory) const;
    Error outOfMemory(uint64_t bytes, Memory memory) const;
};

void Allocator::State::create(const Instance& instance, const LogicalDevice& device) {
    VkPhysicalDeviceProperties properties{};
    instance.functions().GetPhysicalDeviceProperties(device.physicalDevice(), &properties);
    const uint32_t apiVersion = std::min(instance.apiVersion(), properties.apiVersion);
    if (apiVersion >= VK_API_VERSION_1_3) {
        VkPhysicalDeviceMaintenance4Properties maintenance{};
        maintenance.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES;
        VkPhysicalDeviceProperties2 properties2{};
        properties2.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
        properties2.pNext = &maintenance;
        instance.functions().GetPhysicalDeviceProperties2(device.physicalDevice(), &properties2);
        maxBufferBytes = maintenance.maxBufferSize;
    }
    hasMemoryBudget = device.hasMemoryBudget();

    VmaVulkanFunctions functions{};
    functions.vkGetInstanceProcAddr = instance.getInstanceProcAddr();
    functions.vkGetDeviceProcAddr = instance.functions().GetDeviceProcAddr;
    VmaAllocatorCreateInfo info{};
    info.flags = VMA_ALLOCATOR_CREATE_BUFFER_DEVICE_ADDRESS_BIT | VMA_ALLOCATOR_CREATE_EXTERNALLY_SYNCHRONIZED_BIT;
    if (hasMemoryBudget) {
        info.flags |= VMA_ALLOCATOR_CREATE_EXT_MEMORY_BUDGET_BIT;
    }
    info.preferredLargeHeapBlockSize = blockBytes;
    info.physicalDevice = device.physicalDevice();
    info.device = device.handle();
    info.instance = instance.handle();
    info.pVulkanFunctions = &functions;
    info.vulkanApiVersion = std::min(apiVersion, VK_API_VERSION_1_3);
    check(vmaCreateAllocator(&info, &vma), "vmaCreateAllocator");
    findHeap(Memory::device);
    findHeap(Memory::staging);
}

void Allocator::State::findHeap(Memory memory) {
    const VmaAllocationCreateInfo wanted = allocationInfo(memory, false);
    uint32_t type = 0;
    check(vmaFindMemoryTypeIndex(vma, UINT32_MAX, &wanted, &type), "vmaFindMemoryTypeIndex");
    const VkPhysicalDeviceMemoryProperties* properties = nullptr;
    vmaGetMemoryProperties(vma, &properties);
    heaps[static_cast<size_t>(memory)] = properties->memoryTypes[type].heapIndex;
}

VkDeviceSize Allocator::State::heapBytes(Memory memory) const {
    const VkPhysicalDeviceMemoryProperties* properties = nullptr;
    vmaGetMemoryProperties(vma, &properties);
    return properties->memoryHeaps[heaps[static_cast<size_t>(memory)]].size;
}

Error Allocator::State::outOfMemory(uint64_t bytes, Memory memory) const {
    std::array<VmaBudget, VK_MAX_MEMORY_HEAPS> budgets{};
    vmaGetHeapBudgets(vma, budgets.data());
    const VmaBudget& budget = budgets[heaps[static_cast<size_t>(memory)]];
    const VkDeviceSize left = budget.budget - std::min(budget.usage, budget.budget);
    return Error(VKF_ERROR_OUT_OF_DEVICE_MEMORY, "a buffer of " + byteText(bytes) +
                                                     " does not fit into the memory of " + deviceName + ": " +
                                                     byteText(left) + " of " + byteText(heapBytes(memory)) + " left");
}

Allocator::Allocator(const Instance& instance, const LogicalDevice& device, std::string deviceName)
    : state_(std::make_unique<State>()) {
    state_->deviceName = std::move(deviceName);
    state_->create(instance, device);
}

Allocator::~Allocator() = default;

AllocatedBuffer Allocator::create(uint64_t bytes, Memory memory) {
    // Vulkan does not refuse sizes over these limits: its behaviour is undefined.
    if (bytes > std::min(state_->maxBufferBytes, state_->heapBytes(memory))) {
        throw state_->outOfMemory(bytes, memory);
    }
    AllocatedBuffer result;
    result.capacity = std::max<uint64_t>(4, (bytes + 3) / 4 * 4);
    VkBufferCreateInfo buffer{};
    buffer.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    buffer.size = result.capacity;
    buffer.usage = bufferUsage;
    const VmaAllocationCreateInfo wanted = allocationInfo(memory, state_->hasMemoryBudget);
    VmaAllocation allocation = nullptr;
    VmaAllocationInfo info{};
    const VkResult created = vmaCreateBufferWithAlignment(state_->vma, &buffer, &wanted, addressAlignment,
                                                          &result.buffer, &allocation, &info);
    if (created == VK_ERROR_OUT_OF_DEVICE_MEMORY) {
        throw state_->outOfMemory(bytes, memory);
    }
    check(created, "vmaCreateBuffer");
    result.allocation = allocation;
    result.mapped = info.pMappedData;
    return result;
}

void Allocator::destroy(const AllocatedBuffer& buffer) noexcept {
    vmaDestroyBuffer(state_->vma, buffer.buffer, static_cast<VmaAllocation>(buffer.allocation));
}

} // namespace vkf::host
