// SPDX-License-Identifier: MIT
//
// The attention of a model for one token. Each layer appends its rotated k and its v to its cache, and attends to the
// content of the cache. At the end the lengths advance.
// The step has no model weights. All layers get the same q, k and v.
#pragma once

#include <cstdint>
#include <vector>

#include "tensors/random_tensors.hpp"
#include "vkflash/reference.h"
#include "vkflash/vkflash.hpp"

namespace vkf::tools {

struct StepShape {
    uint32_t layers = 32;
    VkfProblem attention{};  // one row of each sequence; keys is what a cache has room for
    uint32_t keysBefore = 0; // keys in the cache of each sequence before the first step
};

class DecodeStep {
public:
    // Fills the caches. The device must outlive the step. Throws host::Error if the library refuses or memory is short.
    DecodeStep(host::Device& device, const StepShape& shape);

    // The two halves of a step, for all layers. A barrier follows each call.
    void recordAppends(VkCommandBuffer commands) const;
    void recordAttention(VkCommandBuffer commands) const;
    // Records the whole step. Each execution adds one row to the caches.
    void record(VkCommandBuffer commands) const;

    // Compares the output of the last layer with the reference after `steps` executed steps.
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
    RandomTensors tensors_; // state before the first step; k and v are the same in every layer
    std::vector<std::byte> newK_, newV_;
    std::vector<int32_t> lengths_;
    std::vector<Layer> layers_;
    host::Buffer q_, rotatedQ_, newKBuffer_, newVBuffer_, lengthsBuffer_, newLengths_, blockTable_, scratch_;
};

} // namespace vkf::tools
