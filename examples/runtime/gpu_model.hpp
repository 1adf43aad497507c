// SPDX-License-Identifier: MIT
//
// The model on the GPU. A step is recorded once and can be submitted any number of times, because the sequence's
// length, tokens and logits are on the device.
#pragma once

#include <cstdint>
#include <vector>

#include <vkflash/vkflash.hpp>

#include "gpu.hpp"
#include "kernels.hpp"
#include "model.hpp"

// The vkflash objects for steps with a fixed number of rows.
struct Step {
    uint32_t rows = 0;
    vkf::Append append;
    vkf::Plan attention;
    Allocation scratch{};
    uint64_t scratchBytes = 0;
};

class GpuModel {
public:
    GpuModel(Gpu& gpu, const Weights& weights, const std::vector<int32_t>& prompt,
             const std::vector<int32_t>& blockTable);

    // Prepares steps that take in `rows` tokens.
    Step prepare(uint32_t rows);
    // Records a step. It takes in the next tokens of the sequence and adds one token to it.
    void record(VkCommandBuffer commandBuffer, const Step& step) const;

    int32_t token(uint32_t position) const { return static_cast<const int32_t*>(tokens_.mapped)[position]; }
    // The logits after the token at a position. For a prompt, only the logits after its last token exist.
    const float* logits(uint32_t position) const {
        return static_cast<const float*>(history_.mapped) + size_t{position} * vocabulary;
    }

private:
    struct LayerMemory {
        Allocation attentionNorm, qkv, attentionOutput, mlpNorm, gateAndUp, down; // weights
        Allocation k, v;                                                          // the cache
    };
    Allocation upload(const std::vector<float>& values);
    Arguments rowsOf(const Allocation& weight, const Allocation& source, const Allocation& target, uint32_t from,
                     uint32_t to) const;
    void recordAttention(VkCommandBuffer commandBuffer, const Step& step, const LayerMemory& layer) const;
    void recordLayer(VkCommandBuffer commandBuffer, const Step& step, const LayerMemory& layer) const;

    Gpu& gpu_;
    Kernels kernels_;
    vkf::Context context_;
    std::vector<LayerMemory> layers_;
    Allocation embedding_, norm_, output_;
    Allocation x_, normed_, qkv_, attended_, gateAndUp_, gated_, logits_; // rows of one step
    Allocation tokens_, history_, blockTable_, lengths_, newLengths_;
};
