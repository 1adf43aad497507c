// SPDX-License-Identifier: MIT
//
// The pipelines of a context. A pipeline is compiled at its first use, and kept until the context is destroyed.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>

#include "device/functions.hpp"
#include "pipelines/variant.hpp"

namespace vkf {

class Pipelines {
public:
    Pipelines(const DeviceFunctions& functions, VkDevice device, VkPipelineCache cache,
              const VkAllocationCallbacks* allocator);
    ~Pipelines();
    Pipelines(const Pipelines&) = delete;
    Pipelines& operator=(const Pipelines&) = delete;

    // Creates what all pipelines share.
    VkfResult initialize(VkfMessage* message);
    // Returns the pipeline of a variant, and compiles it if it is new. Thread-safe: several threads can compile
    // different variants at the same time. Each variant is compiled once, unless its compilation fails. A caller never
    // waits for the compilation of another variant. After a compilation that lost the device, every call fails.
    VkfResult get(const Variant& variant, VkPipeline* pipeline, VkfMessage* message);

    VkPipelineLayout layout() const { return layout_; }

private:
    // Returns the pipeline, or null after it has reserved the variant for the caller to compile. Waits while another
    // thread compiles the variant.
    VkPipeline findOrReserve(const Variant& variant);
    // Ends the reservation: keeps the pipeline, or forgets the variant if there is none.
    void settle(const Variant& variant, VkPipeline pipeline);
    VkfResult compile(const Variant& variant, VkPipeline* pipeline, VkfMessage* message) const;
    // Names the pipeline for debuggers and profilers, if the application enabled VK_EXT_debug_utils.
    void setName(VkPipeline pipeline, const std::string& name) const noexcept;

    const DeviceFunctions& functions_;
    VkDevice device_;
    VkPipelineCache cache_;
    const VkAllocationCallbacks* allocator_;
    VkPipelineLayout layout_ = VK_NULL_HANDLE;
    std::atomic<bool> lost_ = false; // a compilation said that the device is lost
    std::mutex mutex_;               // guards pipelines_; no thread compiles while it holds it
    std::condition_variable settled_;
    std::map<Variant, VkPipeline> pipelines_; // null while a thread compiles the variant
};

} // namespace vkf
