// SPDX-License-Identifier: MIT
#include "descriptors.hpp"

#include <algorithm>

namespace vkf::layer {
namespace {

void write(const VkWriteDescriptorSet& from, BoundBuffers& to) {
    const bool followed = from.descriptorType == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER && from.dstArrayElement == 0 &&
                          from.pBufferInfo != nullptr;
    // Descriptors past the end of a binding go to the next bindings. Each binding of ggml's kernels has one.
    for (uint32_t i = 0; i < from.descriptorCount && from.dstBinding + i < to.size(); i++) {
        to[from.dstBinding + i] = followed ? from.pBufferInfo[i] : VkDescriptorBufferInfo{};
    }
}

} // namespace

void Descriptors::layoutCreated(VkDescriptorSetLayout layout, const VkDescriptorSetLayoutCreateInfo& info) {
    if ((info.flags & VK_DESCRIPTOR_SET_LAYOUT_CREATE_UPDATE_AFTER_BIND_POOL_BIT) != 0) {
        const std::lock_guard lock(mutex_);
        writtenLate_.insert(layout);
    }
}

void Descriptors::layoutDestroyed(VkDescriptorSetLayout layout) {
    const std::lock_guard lock(mutex_);
    writtenLate_.erase(layout);
}

void Descriptors::allocated(const VkDescriptorSetAllocateInfo& info, const VkDescriptorSet* sets) {
    const std::lock_guard lock(mutex_);
    std::vector<VkDescriptorSet>& own = pools_[info.descriptorPool];
    for (uint32_t i = 0; i < info.descriptorSetCount; i++) {
        if (writtenLate_.count(info.pSetLayouts[i]) == 0) {
            sets_[sets[i]] = {};
            own.push_back(sets[i]);
        } else {
            sets_.erase(sets[i]);
        }
    }
}

void Descriptors::freed(VkDescriptorPool pool, uint32_t count, const VkDescriptorSet* sets) {
    const std::lock_guard lock(mutex_);
    std::vector<VkDescriptorSet>& own = pools_[pool];
    for (uint32_t i = 0; i < count; i++) {
        sets_.erase(sets[i]);
        own.erase(std::remove(own.begin(), own.end(), sets[i]), own.end());
    }
}

void Descriptors::emptied(VkDescriptorPool pool) {
    const std::lock_guard lock(mutex_);
    const auto found = pools_.find(pool);
    if (found == pools_.end()) {
        return;
    }
    for (VkDescriptorSet set : found->second) {
        sets_.erase(set);
    }
    pools_.erase(found);
}

void Descriptors::written(uint32_t count, const VkWriteDescriptorSet* writes) {
    const std::lock_guard lock(mutex_);
    for (uint32_t i = 0; i < count; i++) {
        const auto set = sets_.find(writes[i].dstSet);
        if (set != sets_.end()) {
            write(writes[i], set->second);
        }
    }
}

void Descriptors::untracked(VkDescriptorSet set) {
    const std::lock_guard lock(mutex_);
    const auto found = sets_.find(set);
    if (found != sets_.end()) {
        found->second = {};
    }
}

BoundBuffers Descriptors::find(VkDescriptorSet set) const {
    const std::lock_guard lock(mutex_);
    const auto found = sets_.find(set);
    return found == sets_.end() ? BoundBuffers{} : found->second;
}

} // namespace vkf::layer
