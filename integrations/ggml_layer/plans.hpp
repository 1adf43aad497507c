// SPDX-License-Identifier: MIT
//
// Plans by dispatch. A model asks for few shapes, again and again.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include <vkflash/vkflash.hpp>

#include "call.hpp"
#include "memory.hpp"

namespace vkf::layer {

class Device;

// What becomes of a dispatch.
struct PlannedCall {
    std::string refusal;    // not empty: why the dispatch stays as it is. The other members are then not set.
    bool temporary = false; // a refusal that need not last, such as a lack of memory
    VkfUse use = 0;
    Plan plan;
    VkDeviceSize scratchBytes = 0;
    VkDeviceSize maskBytes = 0;      // of the whole mask, of which the call may read a part
    std::shared_ptr<Memory> factors; // of each head's bias, with VKF_USE_BIAS_FACTORS
};

// Thread-safe. Threads that record plans do not need them to stay in the cache.
class Plans {
public:
    explicit Plans(Device& device) : device_(device) {}
    // Makes the plan if the cache does not have it, which blocks while the driver compiles. If the cache is full, all
    // plans go: pipelines stay in the context, so that a new plan costs little.
    std::shared_ptr<const PlannedCall> find(const Dispatch& dispatch);

    static constexpr size_t capacity = 1024;

private:
    struct Hash {
        size_t operator()(const Dispatch& dispatch) const;
    };
    struct Equal {
        bool operator()(const Dispatch& a, const Dispatch& b) const;
    };
    std::shared_ptr<const PlannedCall> make(const Dispatch& dispatch);
    std::shared_ptr<Memory> factorsOf(float maxBias, uint32_t heads);

    Device& device_;
    std::mutex mutex_;
    std::unordered_map<Dispatch, std::shared_ptr<const PlannedCall>, Hash, Equal> calls_;
    std::map<std::pair<float, uint32_t>, std::shared_ptr<Memory>> factors_;
};

} // namespace vkf::layer
