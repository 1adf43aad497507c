// SPDX-License-Identifier: MIT
//
// The storage buffers in the descriptor sets of a device.
#pragma once

#include <vulkan/vulkan_core.h>

#include <array>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "kernel.hpp"

namespace vkf::layer {

// The first bindings of a set. `buffer` is null where no storage buffer was written, or something that the layer does
// not follow.
using BoundBuffers = std::array<VkDescriptorBufferInfo, mostBindings>;

// Thread-safe.
class Descriptors {
public:
    // Sets of such a layout may be written after they were bound, so that they are not followed.
    void layoutCreated(VkDescriptorSetLayout layout, const VkDescriptorSetLayoutCreateInfo& info);
    void layoutDestroyed(VkDescriptorSetLayout layout);
    void allocated(const VkDescriptorSetAllocateInfo& info, const VkDescriptorSet* sets);
    void freed(VkDescriptorPool pool, uint32_t count, const VkDescriptorSet* sets);
    // The pool was reset or destroyed.
    void emptied(VkDescriptorPool pool);
    void written(uint32_t count, const VkWriteDescriptorSet* writes);
    // The set got contents that the layer does not follow.
    void untracked(VkDescriptorSet set);
    // Returns what the set holds; nothing but null buffers for an unknown set.
    BoundBuffers find(VkDescriptorSet set) const;

private:
    mutable std::mutex mutex_;
    std::unordered_map<VkDescriptorSet, BoundBuffers> sets_;
    std::unordered_set<VkDescriptorSetLayout> writtenLate_;
    std::unordered_map<VkDescriptorPool, std::vector<VkDescriptorSet>> pools_;
};

} // namespace vkf::layer
