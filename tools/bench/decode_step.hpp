// SPDX-License-Identifier: MIT
//
// What one token costs in the attention of a model: each layer appends its k and v to its cache, rotated, and attends
// to what the cache then holds; at the end the lengths advance. No layer has a model's weights here. All layers get
// the same q, k and v.
#ifndef VKFLASH_TOOLS_DECODE_STEP_HPP
#define VKFLASH_TOOLS_DECODE_STEP_HPP

#include <cstdint>
#include <vector>

#include "tensors/random_tensors.hpp"
#include "vkflash/reference.h"
#include "vkflash/vkflash.hpp"

namespace vkf::tools {

struct StepShape {
    uint32_t layers = 32;
    VkfProblem attention{};  // one row of each sequence; keys is what a cache has room for
    uint32_t keysBefore = 0; // in the cache of each sequence at first
};

class DecodeStep {
public:
    // Fills the caches. The device must outlive the step. host::Error where the library refuses or memory is short.
    DecodeStep(host::Device& device, const StepShape& shape);

    // Parts of a step: those of all layers, with a barrier after each.
    void recordAppends(VkCommandBuffer commands) const;
    void recordAttention(VkCommandBuffer commands) const;
    // The whole step. Each time it runs, the caches have a row more.
    void record(VkCommandBuffer commands) const;

    // Compares the last layer's output with the reference, when `steps` of them have run.
    VkfVerdict verify(uint32_t steps);

    const VkfPlanInfo& plan() const noexcept { return plan_.info(); }

private:
    struct Layer {
        host::Buffer k, v, o;
    };

    void recordAppend(VkCommandBuffer commands, const Layer& layer) const;
    void recordAttention(VkCommandBuffer commands, const Layer& layer) const;

    host::Device& device_;
    VkfProblem problem_;
    VkfAppendProblem appendProblem_;
    host::Plan plan_;
    Append append_;
    RandomTensors tensors_; // of the first step; k and v those of every layer
    std::vector<std::byte> newK_, newV_;
    std::vector<int32_t> lengths_;
    std::vector<Layer> layers_;
    host::Buffer q_, rotatedQ_, newKBuffer_, newVBuffer_, lengthsBuffer_, newLengths_, blockTable_, scratch_;
};

} // namespace vkf::tools

#endif
