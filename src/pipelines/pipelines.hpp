// SPDX-License-Identifier: MIT
//
// The pipelines of a context: compiled on first use, kept until the context goes.
#pragma once

#include <map>
#include <mutex>

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
    // The pipeline of a variant, compiled if it is new. Thread-safe.
    VkfResult get(const Variant& variant, VkPipeline* pipeline, VkfMessage* message);

    VkPipelineLayout layout() const { return layout_; }

private:
    VkfResult compile(const Variant& variant, VkPipeline* pipeline, VkfMessage* message) const;

    const DeviceFunctions& functions_;
    VkDevice device_;
    VkPipelineCache cache_;
    const VkAllocationCallbacks* allocator_;
    VkPipelineLayout layout_ = VK_NULL_HANDLE;
    std::mutex mutex_; // guards pipelines_ and the application's pipeline cache
    std::map<Variant, VkPipeline> pipelines_;
};

} // namespace vkf
