// SPDX-License-Identifier: MIT
//
// A device on which the layer works: vkflash's context, and what the layer knows of the application's objects.
#pragma once

#include <vulkan/vulkan_core.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include <vkflash/vkflash.hpp>

#include "descriptors.hpp"
#include "kernel.hpp"
#include "memory.hpp"
#include "plans.hpp"
#include "vulkan_functions.hpp"

namespace vkf::layer {

// Most scratch memory that the layer takes for the command buffers of one pool.
constexpr VkDeviceSize mostScratchBytes = VkDeviceSize{1} << 30;

// A buffer of the application.
struct KnownBuffer {
    VkDeviceSize size;
    bool hasAddress;
};

// What a device was created with.
struct DeviceOrigin {
    const InstanceFunctions* functions;
    PFN_vkGetInstanceProcAddr getInstanceProcAddr; // for vkflash
    VkInstance instance;
    VkPhysicalDevice physicalDevice;
    VkfFeatures features;
};

// All member functions are thread-safe.
class Device {
public:
    Device(VkDevice handle, PFN_vkGetDeviceProcAddr getDeviceProcAddr);

    // Creates vkflash's context. Returns why the layer cannot work on this device, or an empty text.
    std::string activate(const DeviceOrigin& origin);
    bool active() const { return static_cast<bool>(context_); }

    const DeviceFunctions& next() const { return next_; }
    VkDevice handle() const { return handle_; }
    VkfContext context() const { return context_.get(); }
    Plans& plans() { return plans_; }
    Descriptors& descriptors() { return descriptors_; }

    // Returns null if there is no memory left.
    std::shared_ptr<Memory> allocate(VkDeviceSize bytes, bool host) const;

    void bufferCreated(VkBuffer buffer, KnownBuffer known);
    void bufferDestroyed(VkBuffer buffer);
    std::optional<KnownBuffer> findBuffer(VkBuffer buffer) const;

    void moduleCreated(VkShaderModule module, const VkShaderModuleCreateInfo& info);
    void moduleDestroyed(VkShaderModule module);
    void pipelineCreated(VkPipeline pipeline, const VkComputePipelineCreateInfo& info);
    void pipelineDestroyed(VkPipeline pipeline);
    // Returns ggml's kernel of a pipeline, or null. Takes no lock, because every bound pipeline is looked up. The
    // kernel stays until the device is destroyed.
    const Kernel* findKernel(VkPipeline pipeline) const;

private:
    struct NamedKernel {
        VkPipeline pipeline;
        Kernel kernel;
    };
    // Pipelines of ggml's kernels. A new one replaces the whole table.
    using KernelTable = std::vector<const NamedKernel*>;
    void publish(KernelTable table);

    VkDevice handle_;
    DeviceFunctions next_;
    VkPhysicalDeviceMemoryProperties memoryTypes_{};
    Descriptors descriptors_;

    mutable std::mutex mutex_;
    std::unordered_map<VkBuffer, KnownBuffer> buffers_;
    std::unordered_map<VkShaderModule, KernelKind> modules_;
    std::vector<std::unique_ptr<const NamedKernel>> kernels_;
    // Threads may still read older tables, so that they stay too.
    std::vector<std::unique_ptr<const KernelTable>> tables_;
    std::atomic<const KernelTable*> table_;

    Context context_;
    Plans plans_; // goes before the context
};

} // namespace vkf::layer
