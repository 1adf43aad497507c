// SPDX-License-Identifier: MIT
//
// The pipelines and launches of a context. Each is compiled at its first use, and kept until the context is destroyed.
#pragma once

#include <atomic>
#include <string>
#include <variant>

#include "device/vulkan_functions.hpp"
#include "pipelines/compiled_once.hpp"
#include "pipelines/launches.hpp"
#include "pipelines/ptx_table.hpp"
#include "pipelines/variant.hpp"

namespace vkf {

// What runs a kernel.
using Executable = std::variant<VkPipeline, Launch>;

class Pipelines {
public:
    // `texts` has the kernels that are launched.
    Pipelines(const DeviceFunctions& functions, VkDevice device, VkPipelineCache cache,
              const VkAllocationCallbacks* allocator, VkfQuirks quirks = 0, const PtxTexts& texts = builtPtxTexts());
    ~Pipelines();
    Pipelines(const Pipelines&) = delete;
    Pipelines& operator=(const Pipelines&) = delete;

    // Creates what all pipelines share.
    VkfResult initialize(VkfMessage* message);
    // Returns the pipeline of a variant, and compiles it if it is new. Thread-safe: several threads can compile
    // different variants at the same time. Each variant is compiled once, unless its compilation fails. A caller never
    // waits for the compilation of another variant. After a compilation that lost the device, every call fails.
    VkfResult get(const Variant& variant, VkPipeline* pipeline, VkfMessage* message);
    // As above, for kernels of both kinds. Launches::get says when a launch fails.
    VkfResult get(const Variant& variant, Executable* executable, VkfMessage* message);

    // Why no kernel can be launched, or null.
    const char* whyNoLaunches() const { return launches_.whyClosed(); }
    VkPipelineLayout layout() const { return layout_; }

private:
    // Calls get() and remembers if the device was lost.
    template <typename Get> VkfResult unlessLost(const Get& get, VkfMessage* message);
    VkfResult compile(const Variant& variant, VkPipeline* pipeline, VkfMessage* message) const;
    // Names the pipeline for debuggers and profilers, if the application enabled VK_EXT_debug_utils.
    void setName(VkPipeline pipeline, const std::string& name) const noexcept;

    const DeviceFunctions& functions_;
    VkDevice device_;
    VkPipelineCache cache_;
    const VkAllocationCallbacks* allocator_;
    VkfQuirks quirks_; // of the driver
    VkPipelineLayout layout_ = VK_NULL_HANDLE;
    std::atomic<bool> lost_ = false; // a compilation said that the device is lost
    CompiledOnce<Variant, VkPipeline> pipelines_;
    Launches launches_;
};

} // namespace vkf
