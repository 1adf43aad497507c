// SPDX-License-Identifier: MIT
#include "device/gpu.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace vkf::mpi {
namespace {

template <typename Function> Function instanceFunction(const host::Device& device, const char* name) {
    return reinterpret_cast<Function>(device.getInstanceProcAddr()(device.instance(), name));
}

struct FreeRequirements {
    VkfDeviceRequirements* requirements;
    ~FreeRequirements() { vkfFreeDeviceRequirements(requirements); }
};

// A queue of the device, by family and number.
struct QueueChoice {
    uint32_t family = 0;
    uint32_t number = 0;
};

// A family whose only purpose is to copy, if the device has one.
QueueChoice copyQueue(const std::vector<VkQueueFamilyProperties>& families, uint32_t kernelFamily, uint32_t number) {
    constexpr VkQueueFlags other = VK_QUEUE_COMPUTE_BIT | VK_QUEUE_GRAPHICS_BIT;
    for (uint32_t i = 0; i < families.size(); ++i) {
        const VkQueueFlags flags = families[i].queueFlags;
        if ((flags & VK_QUEUE_TRANSFER_BIT) != 0 && (flags & other) == 0 && families[i].queueCount > 0) {
            return {i, std::min(number, families[i].queueCount - 1)};
        }
    }
    return {kernelFamily, std::min(number + 1, families[kernelFamily].queueCount - 1)};
}

} // namespace

void check(VkResult result, const char* call) {
    if (result == VK_SUCCESS) {
        return;
    }
    VkfResult code = VKF_ERROR_VULKAN;
    switch (result) {
    case VK_ERROR_OUT_OF_HOST_MEMORY:
        code = VKF_ERROR_OUT_OF_HOST_MEMORY;
        break;
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
        code = VKF_ERROR_OUT_OF_DEVICE_MEMORY;
        break;
    case VK_ERROR_DEVICE_LOST:
        code = VKF_ERROR_DEVICE_LOST;
        break;
    default:
        break;
    }
    const std::string reason = code == VKF_ERROR_VULKAN ? "VkResult " + std::to_string(result) : vkfResultString(code);
    throw host::Error(code, std::string(call) + " failed: " + reason);
}

void check(VkfResult result, const VkfMessage& message) {
    if (result != VKF_SUCCESS) {
        throw host::Error(result, message.text);
    }
}

Queue::Queue(const DeviceFunctions& functions, VkDevice device, uint32_t family, VkQueue queue)
    : vk_(functions), device_(device), queue_(queue) {
    VkCommandPoolCreateInfo pool{};
    pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
    pool.queueFamilyIndex = family;
    check(vk_.CreateCommandPool(device_, &pool, nullptr, &pool_), "vkCreateCommandPool");
    VkSemaphoreTypeCreateInfo type{};
    type.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
    type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
    VkSemaphoreCreateInfo semaphore{};
    semaphore.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
    semaphore.pNext = &type;
    const VkResult result = vk_.CreateSemaphore(device_, &semaphore, nullptr, &timeline_);
    if (result != VK_SUCCESS) {
        timeline_ = VK_NULL_HANDLE;
        destroy();
        check(result, "vkCreateSemaphore");
    }
}

Queue::~Queue() { destroy(); }

void Queue::destroy() noexcept {
    vk_.DestroySemaphore(device_, timeline_, nullptr);
    vk_.DestroyCommandPool(device_, pool_, nullptr);
}

VkCommandBuffer Queue::freeCommands() {
    if (!used_.empty() && wait(used_.front().first, 0)) {
        VkCommandBuffer commands = used_.front().second;
        used_.pop_front();
        return commands;
    }
    VkCommandBufferAllocateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    info.commandPool = pool_;
    info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    info.commandBufferCount = 1;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    check(vk_.AllocateCommandBuffers(device_, &info, &commands), "vkAllocateCommandBuffers");
    return commands;
}

Moment Queue::submit(const Record& record, std::initializer_list<Moment> after) {
    VkCommandBuffer commands = freeCommands();
    VkCommandBufferBeginInfo begin{};
    begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
    check(vk_.BeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer");
    VkMemoryBarrier memory{};
    memory.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    memory.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT;
    memory.dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
    vk_.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 1,
                           &memory, 0, nullptr, 0, nullptr);
    record(commands);
    memory.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
    vk_.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &memory, 0,
                           nullptr, 0, nullptr);
    check(vk_.EndCommandBuffer(commands), "vkEndCommandBuffer");

    std::vector<VkSemaphore> waits;
    std::vector<uint64_t> values;
    for (const Moment& moment : after) {
        if (moment.queue != nullptr && moment.queue != this) {
            waits.push_back(moment.queue->timeline_);
            values.push_back(moment.value);
        }
    }
    const std::vector<VkPipelineStageFlags> stages(waits.size(), VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
    const uint64_t value = submitted_ + 1;
    VkTimelineSemaphoreSubmitInfo timeline{};
    timeline.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO;
    timeline.waitSemaphoreValueCount = static_cast<uint32_t>(values.size());
    timeline.pWaitSemaphoreValues = values.data();
    timeline.signalSemaphoreValueCount = 1;
    timeline.pSignalSemaphoreValues = &value;
    VkSubmitInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    info.pNext = &timeline;
    info.waitSemaphoreCount = static_cast<uint32_t>(waits.size());
    info.pWaitSemaphores = waits.data();
    info.pWaitDstStageMask = stages.data();
    info.commandBufferCount = 1;
    info.pCommandBuffers = &commands;
    info.signalSemaphoreCount = 1;
    info.pSignalSemaphores = &timeline_;
    check(vk_.QueueSubmit(queue_, 1, &info, VK_NULL_HANDLE), "vkQueueSubmit");
    submitted_ = value;
    used_.emplace_back(value, commands);
    return {this, value};
}

bool Queue::wait(uint64_t value, uint64_t nanoseconds) const {
    VkSemaphoreWaitInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO;
    info.semaphoreCount = 1;
    info.pSemaphores = &timeline_;
    info.pValues = &value;
    const VkResult result = vk_.WaitSemaphores(device_, &info, nanoseconds);
    if (result == VK_TIMEOUT) {
        return false;
    }
    check(result, "vkWaitSemaphores");
    return true;
}

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
    if (gpu_->families().size() > 1) {
        info.sharingMode = VK_SHARING_MODE_CONCURRENT;
        info.queueFamilyIndexCount = static_cast<uint32_t>(gpu_->families().size());
        info.pQueueFamilyIndices = gpu_->families().data();
    }
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
    if (gpu_->families().size() > 1) {
        info.sharingMode = VK_SHARING_MODE_CONCURRENT;
        info.queueFamilyIndexCount = static_cast<uint32_t>(gpu_->families().size());
        info.pQueueFamilyIndices = gpu_->families().data();
    }
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

Gpu::Gpu(const host::DeviceOptions& options) : base_(options) {
    try {
        createDevice();
        createContext(options);
    } catch (...) {
        destroy();
        throw;
    }
}

Gpu::~Gpu() { destroy(); }

void Gpu::settle() noexcept {
    constexpr uint64_t threeSeconds = 3'000'000'000;
    for (const Queue* queue : {kernels_.get(), toDevice_.get(), toHost_.get()}) {
        try {
            givenUp_ = givenUp_ || !queue->wait(queue->last().value, threeSeconds);
        } catch (const host::Error&) {
            continue; // a lost device uses nothing any more
        }
    }
}

void Gpu::destroy() noexcept {
    if (vk_ == nullptr) {
        return;
    }
    vk_->DeviceWaitIdle(device_);
    context_ = Context();
    kernels_.reset();
    toDevice_.reset();
    toHost_.reset();
    vk_->DestroyDevice(device_, nullptr);
}

void Gpu::createDevice() {
    auto query = make<VkfDeviceQuery>();
    query.getInstanceProcAddr = base_.getInstanceProcAddr();
    query.instance = base_.instance();
    query.physicalDevice = base_.physicalDevice();
    auto requirements = make<VkfDeviceRequirements>();
    VkfMessage message{};
    check(vkfGetDeviceRequirements(&query, &requirements, &message), message);
    const FreeRequirements owner{&requirements};
    features_ = requirements.usableFeatures;

    const auto listFamilies = instanceFunction<PFN_vkGetPhysicalDeviceQueueFamilyProperties>(
        base_, "vkGetPhysicalDeviceQueueFamilyProperties");
    uint32_t count = 0;
    listFamilies(base_.physicalDevice(), &count, nullptr);
    std::vector<VkQueueFamilyProperties> families(count);
    listFamilies(base_.physicalDevice(), &count, families.data());
    const std::array<QueueChoice, 3> choices = {{{base_.queueFamily(), 0},
                                                 copyQueue(families, base_.queueFamily(), 0),
                                                 copyQueue(families, base_.queueFamily(), 1)}};
    std::vector<VkDeviceQueueCreateInfo> queues;
    const std::array<float, 3> priorities = {1.0F, 1.0F, 1.0F};
    for (const QueueChoice& choice : choices) {
        auto entry = std::find_if(queues.begin(), queues.end(), [&](const VkDeviceQueueCreateInfo& info) {
            return info.queueFamilyIndex == choice.family;
        });
        if (entry == queues.end()) {
            VkDeviceQueueCreateInfo info{};
            info.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
            info.queueFamilyIndex = choice.family;
            info.pQueuePriorities = priorities.data();
            queues.push_back(info);
            families_.push_back(choice.family);
            entry = queues.end() - 1;
        }
        entry->queueCount = std::max(entry->queueCount, choice.number + 1);
    }
    std::vector<const char*> extensions(requirements.extensions, requirements.extensions + requirements.extensionCount);
    if (findImport()) {
        extensions.push_back(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
    }
    VkPhysicalDeviceTimelineSemaphoreFeatures timeline{};
    timeline.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES;
    timeline.pNext = const_cast<void*>(requirements.features); // which no driver writes to
    timeline.timelineSemaphore = VK_TRUE;
    VkDeviceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    info.pNext = &timeline;
    info.queueCreateInfoCount = static_cast<uint32_t>(queues.size());
    info.pQueueCreateInfos = queues.data();
    info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
    info.ppEnabledExtensionNames = extensions.data();
    check(
        instanceFunction<PFN_vkCreateDevice>(base_, "vkCreateDevice")(base_.physicalDevice(), &info, nullptr, &device_),
        "vkCreateDevice");
    vk_ = std::make_unique<DeviceFunctions>(instanceFunction<PFN_vkGetDeviceProcAddr>(base_, "vkGetDeviceProcAddr"),
                                            device_);
    instanceFunction<PFN_vkGetPhysicalDeviceMemoryProperties>(base_, "vkGetPhysicalDeviceMemoryProperties")(
        base_.physicalDevice(), &memories_);
    const auto open = [this](const QueueChoice& choice) {
        VkQueue queue = VK_NULL_HANDLE;
        vk_->GetDeviceQueue(device_, choice.family, choice.number, &queue);
        return std::make_unique<Queue>(*vk_, device_, choice.family, queue);
    };
    kernels_ = open(choices[0]);
    toDevice_ = open(choices[1]);
    toHost_ = open(choices[2]);
}

// Whether the device takes host memory of others.
bool Gpu::findImport() {
    const std::vector<std::string>& offered = base_.summary().extensions;
    if (std::find(offered.begin(), offered.end(), VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME) == offered.end()) {
        return false;
    }
    VkPhysicalDeviceExternalMemoryHostPropertiesEXT host{};
    host.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT;
    VkPhysicalDeviceProperties2 properties{};
    properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    properties.pNext = &host;
    instanceFunction<PFN_vkGetPhysicalDeviceProperties2>(base_, "vkGetPhysicalDeviceProperties2")(
        base_.physicalDevice(), &properties);
    importAlignment_ = host.minImportedHostPointerAlignment;
    return importAlignment_ != 0;
}

void Gpu::createContext(const host::DeviceOptions& options) {
    auto info = make<VkfContextCreateInfo>();
    info.getInstanceProcAddr = base_.getInstanceProcAddr();
    info.instance = base_.instance();
    info.physicalDevice = base_.physicalDevice();
    info.device = device_;
    info.features = features_;
    info.quirks = base_.quirks();
    info.maxSharedMemoryBytes = options.maxSharedMemoryBytes;
    info.tuning = options.tuning.data();
    info.tuningBytes = options.tuning.size();
    info.matrixLayouts = base_.matrixLayouts().data();
    info.matrixLayoutCount = base_.matrixLayouts().size();
    info.debug = options.debug;
    VkfMessage message{};
    check(vkfCreateContext(&info, context_.put(), &message), message);
}

uint32_t Gpu::memoryType(uint32_t allowed, Place place) const {
    constexpr VkMemoryPropertyFlags mapped = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    const std::vector<VkMemoryPropertyFlags> wanted =
        place == Place::device
            ? std::vector<VkMemoryPropertyFlags>{VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0}
            : std::vector<VkMemoryPropertyFlags>{mapped | VK_MEMORY_PROPERTY_HOST_CACHED_BIT, mapped};
    for (const VkMemoryPropertyFlags flags : wanted) {
        for (uint32_t i = 0; i < memories_.memoryTypeCount; ++i) {
            if ((allowed >> i & 1) != 0 && (memories_.memoryTypes[i].propertyFlags & flags) == flags) {
                return i;
            }
        }
    }
    throw host::Error(VKF_ERROR_UNSUPPORTED, "the device has no memory that the host can map");
}

void Gpu::barrier(VkCommandBuffer commands) const {
    VkMemoryBarrier memory{};
    memory.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    memory.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT;
    memory.dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
    vk_->CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 1,
                            &memory, 0, nullptr, 0, nullptr);
}

void Gpu::copy(VkCommandBuffer commands, const Memory& from, uint64_t fromOffset, const Memory& to, uint64_t toOffset,
               uint64_t bytes) const {
    if (bytes > 0) {
        const VkBufferCopy region{fromOffset, toOffset, bytes};
        vk_->CmdCopyBuffer(commands, from.handle(), to.handle(), 1, &region);
    }
}

void Gpu::fill(VkCommandBuffer commands, const Memory& memory, uint64_t offset, uint64_t bytes,
               uint32_t pattern) const {
    if (bytes > 0) {
        vk_->CmdFillBuffer(commands, memory.handle(), offset, bytes, pattern);
    }
}

void Gpu::count(uint64_t bytes, bool allocated) const {
    bytes_ = allocated ? bytes_ + bytes : bytes_ - bytes;
    peakBytes_ = std::max(peakBytes_, bytes_);
}

} // namespace vkf::mpi
