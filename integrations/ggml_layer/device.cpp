// SPDX-License-Identifier: MIT
#include "device.hpp"

#include <algorithm>

#include "log.hpp"

namespace vkf::layer {
namespace {

std::optional<KernelKind> kindOf(const VkShaderModuleCreateInfo& info) {
    return layer::kindOf(readInterface({info.pCode, info.codeSize / sizeof(uint32_t)}));
}

// A stage may bring its module along instead of a handle.
const VkShaderModuleCreateInfo* ownModule(const VkPipelineShaderStageCreateInfo& stage) {
    for (auto* in = static_cast<const VkBaseInStructure*>(stage.pNext); in != nullptr; in = in->pNext) {
        if (in->sType == VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO) {
            return reinterpret_cast<const VkShaderModuleCreateInfo*>(in);
        }
    }
    return nullptr;
}

} // namespace

Device::Device(VkDevice handle, PFN_vkGetDeviceProcAddr getDeviceProcAddr)
    : handle_(handle), next_(getDeviceProcAddr, handle), table_(nullptr), plans_(*this) {
    publish({});
}

std::string Device::activate(const DeviceOrigin& origin) {
    origin.functions->GetPhysicalDeviceMemoryProperties(origin.physicalDevice, &memoryTypes_);
    auto info = vkf::make<VkfContextCreateInfo>();
    info.getInstanceProcAddr = origin.getInstanceProcAddr;
    info.instance = origin.instance;
    info.physicalDevice = origin.physicalDevice;
    info.device = handle_;
    info.features = origin.features;
    VkfMessage message{};
    const VkfResult result = vkfCreateContext(&info, context_.put(), &message);
    return result == VKF_SUCCESS ? "" : message.text;
}

std::shared_ptr<Memory> Device::allocate(VkDeviceSize bytes, bool host) const {
    return Memory::allocate(next_, handle_, memoryTypes_, bytes, host);
}

void Device::bufferCreated(VkBuffer buffer, KnownBuffer known) {
    const std::lock_guard lock(mutex_);
    buffers_[buffer] = known;
}

void Device::bufferDestroyed(VkBuffer buffer) {
    const std::lock_guard lock(mutex_);
    buffers_.erase(buffer);
}

std::optional<KnownBuffer> Device::findBuffer(VkBuffer buffer) const {
    const std::lock_guard lock(mutex_);
    const auto found = buffers_.find(buffer);
    return found == buffers_.end() ? std::nullopt : std::optional(found->second);
}

void Device::moduleCreated(VkShaderModule module, const VkShaderModuleCreateInfo& info) {
    const std::optional<KernelKind> kind = kindOf(info);
    if (kind) {
        const std::lock_guard lock(mutex_);
        modules_[module] = *kind;
    }
}

void Device::moduleDestroyed(VkShaderModule module) {
    const std::lock_guard lock(mutex_);
    modules_.erase(module);
}

void Device::pipelineCreated(VkPipeline pipeline, const VkComputePipelineCreateInfo& info) {
    const VkShaderModuleCreateInfo* own = ownModule(info.stage);
    std::optional<KernelKind> kind = own != nullptr ? kindOf(*own) : std::nullopt;
    const std::lock_guard lock(mutex_);
    if (own == nullptr) {
        const auto found = modules_.find(info.stage.module);
        kind = found == modules_.end() ? std::nullopt : std::optional(found->second);
    }
    const std::optional<Kernel> kernel = kind ? kernelOf(*kind, info.stage.pSpecializationInfo) : std::nullopt;
    if (kernel) {
        tally().recognised();
        kernels_.push_back(std::make_unique<const NamedKernel>(NamedKernel{pipeline, *kernel}));
        KernelTable table = *table_;
        table.push_back(kernels_.back().get());
        publish(std::move(table));
    }
}

void Device::pipelineDestroyed(VkPipeline pipeline) {
    if (findKernel(pipeline) == nullptr) {
        return;
    }
    const std::lock_guard lock(mutex_);
    KernelTable table = *table_;
    table.erase(std::remove_if(table.begin(), table.end(),
                               [=](const NamedKernel* named) { return named->pipeline == pipeline; }),
                table.end());
    publish(std::move(table));
}

void Device::publish(KernelTable table) {
    tables_.push_back(std::make_unique<const KernelTable>(std::move(table)));
    table_.store(tables_.back().get(), std::memory_order_release);
}

const Kernel* Device::findKernel(VkPipeline pipeline) const {
    for (const NamedKernel* named : *table_.load(std::memory_order_acquire)) {
        if (named->pipeline == pipeline) {
            return &named->kernel;
        }
    }
    return nullptr;
}

} // namespace vkf::layer
