// SPDX-License-Identifier: MIT
#include "device/gpu.hpp"

#include <algorithm>
#include <array>
#include <cstring>
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
    return {kernelFamily, std::min(number + 2, families[kernelFamily].queueCount - 1)};
}

} // namespace

Gpu::Gpu(const host::DeviceOptions& options) : base_(options) {
    try {
        findIdentity();
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
    for (const Queue* queue : {kernels_.get(), kernelsBeside_.get(), toDevice_.get(), toHost_.get()}) {
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
    kernelsBeside_.reset();
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
    const uint32_t family = base_.queueFamily();
    const std::array<QueueChoice, 4> choices = {{{family, 0},
                                                 {family, std::min(1U, families[family].queueCount - 1)},
                                                 copyQueue(families, family, 0),
                                                 copyQueue(families, family, 1)}};
    std::vector<VkDeviceQueueCreateInfo> queues;
    const std::array<float, 4> priorities = {1.0F, 1.0F, 1.0F, 1.0F};
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
    kernelsBeside_ = open(choices[1]);
    toDevice_ = open(choices[2]);
    toHost_ = open(choices[3]);
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

void Gpu::findIdentity() {
    VkPhysicalDeviceIDProperties id{};
    id.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES;
    VkPhysicalDeviceProperties2 properties{};
    properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    properties.pNext = &id;
    instanceFunction<PFN_vkGetPhysicalDeviceProperties2>(base_, "vkGetPhysicalDeviceProperties2")(
        base_.physicalDevice(), &properties);
    std::array<uint64_t, 2> halves{};
    static_assert(sizeof halves == sizeof id.deviceUUID);
    std::memcpy(halves.data(), id.deviceUUID, sizeof halves);
    identity_ = halves[0] * 31 + halves[1];
}

std::function<void()> Gpu::watch(const std::function<void(double)>& progress, uint64_t submissions) const {
    if (!progress || submissions == 0) {
        return {};
    }
    return [this, progress, submissions, first = kernels_->last().value + kernelsBeside_->last().value] {
        const uint64_t passed = kernels_->passed() + kernelsBeside_->passed();
        const uint64_t done = passed > first ? std::min(passed - first, submissions) : 0;
        progress(static_cast<double>(done) / static_cast<double>(submissions));
    };
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
