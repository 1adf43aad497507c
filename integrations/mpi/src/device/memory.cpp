// SPDX-License-Identifier: MIT
#include "device/memory.hpp"

#include <algorithm>
#include <utility>

#include "device/gpu.hpp"

namespace vkf::mpi {
namespace {

void shareAmongQueues(const Gpu& gpu, VkBufferCreateInfo& info) {
    if (gpu.families().size() > 1) {
        info.sharingMode = VK_SHARING_MODE_CONCURRENT;
        info.queueFamilyIndexCount = static_cast<uint32_t>(gpu.families().size());
        info.pQueueFamilyIndices = gpu.families().data();
    }
}

} // namespace

Memory::Memory(const Gpu& gpu, uint64_t bytes, Place place) : gpu_(&gpu) {
    Memory made;
    made.gpu_ = &gpu;
    made.create(bytes, place);
    swap(made);
}

void Memory::create(uint64_t bytes, Place place) {
    const DeviceFunctions& vk = gpu_->functions();
    VkBufferCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.size = std::max<uint64_t>(bytes, 4);
    info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT |
                 VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    shareAmongQueues(*gpu_, info);
    check(vk.CreateBuffer(gpu_->handle(), &info, nullptr, &buffer_), "vkCreateBuffer");
    VkMemoryRequirements needs{};
    vk.GetBufferMemoryRequirements(gpu_->handle(), buffer_, &needs);
    VkMemoryAllocateFlagsInfo flags{};
    flags.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO;
    flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
    VkMemoryAllocateInfo allocation{};
    allocation.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    allocation.pNext = &flags;
    allocation.allocationSize = needs.size;
    allocation.memoryTypeIndex = gpu_->memoryType(needs.memoryTypeBits, place);
    check(vk.AllocateMemory(gpu_->handle(), &allocation, nullptr, &memory_), "vkAllocateMemory");
    check(vk.BindBufferMemory(gpu_->handle(), buffer_, memory_, 0), "vkBindBufferMemory");
    if (place == Place::host) {
        void* mapped = nullptr;
        check(vk.MapMemory(gpu_->handle(), memory_, 0, VK_WHOLE_SIZE, 0, &mapped), "vkMapMemory");
        mapped_ = static_cast<std::byte*>(mapped);
    }
    VkBufferDeviceAddressInfo address{};
    address.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO;
    address.buffer = buffer_;
    address_ = vk.GetBufferDeviceAddress(gpu_->handle(), &address);
    bytes_ = bytes;
    if (mapped_ == nullptr) {
        gpu_->count(bytes_, true);
    }
}

Memory Memory::import(const Gpu& gpu, std::byte* host, uint64_t bytes) {
    Memory made;
    made.gpu_ = &gpu;
    made.createImport(host, bytes);
    return made;
}

void Memory::createImport(std::byte* host, uint64_t bytes) {
    const DeviceFunctions& vk = gpu_->functions();
    mapped_ = host;
    bytes_ = bytes;
    constexpr VkExternalMemoryHandleTypeFlagBits handle = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
    VkMemoryHostPointerPropertiesEXT properties{};
    properties.sType = VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT;
    check(vk.GetMemoryHostPointerPropertiesEXT(gpu_->handle(), handle, host, &properties),
          "vkGetMemoryHostPointerPropertiesEXT");
    VkExternalMemoryBufferCreateInfo external{};
    external.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO;
    external.handleTypes = handle;
    VkBufferCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.pNext = &external;
    info.size = bytes;
    info.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    shareAmongQueues(*gpu_, info);
    check(vk.CreateBuffer(gpu_->handle(), &info, nullptr, &buffer_), "vkCreateBuffer");
    VkMemoryRequirements needs{};
    vk.GetBufferMemoryRequirements(gpu_->handle(), buffer_, &needs);
    const uint32_t types = needs.memoryTypeBits & properties.memoryTypeBits;
    if (types == 0 || needs.size > bytes) {
        throw host::Error(VKF_ERROR_UNSUPPORTED, "the device takes no shared memory of the host");
    }
    VkImportMemoryHostPointerInfoEXT pointer{};
    pointer.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT;
    pointer.handleType = handle;
    pointer.pHostPointer = host;
    VkMemoryAllocateInfo allocation{};
    allocation.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    allocation.pNext = &pointer;
    allocation.allocationSize = bytes;
    allocation.memoryTypeIndex = gpu_->memoryType(types, Place::host);
    check(vk.AllocateMemory(gpu_->handle(), &allocation, nullptr, &memory_), "vkAllocateMemory");
    check(vk.BindBufferMemory(gpu_->handle(), buffer_, memory_, 0), "vkBindBufferMemory");
}

Memory::~Memory() {
    if (gpu_ == nullptr || gpu_->isGivenUp()) {
        return;
    }
    gpu_->functions().DestroyBuffer(gpu_->handle(), buffer_, nullptr);
    gpu_->functions().FreeMemory(gpu_->handle(), memory_, nullptr);
    if (mapped_ == nullptr) {
        gpu_->count(bytes_, false);
    }
}

void Memory::swap(Memory& other) noexcept {
    std::swap(gpu_, other.gpu_);
    std::swap(bytes_, other.bytes_);
    std::swap(buffer_, other.buffer_);
    std::swap(memory_, other.memory_);
    std::swap(address_, other.address_);
    std::swap(mapped_, other.mapped_);
}

VkfBinding Memory::binding(uint64_t offset, uint64_t bytes) const {
    VkfBinding binding{};
    if (bytes > 0) {
        binding.address = address_ + offset;
        binding.size = bytes;
    }
    return binding;
}

} // namespace vkf::mpi
