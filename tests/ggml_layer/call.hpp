// SPDX-License-Identifier: MIT
//
// One attention call as ggml-vulkan would dispatch it, with fp32 k and v, and what it must give.
#pragma once

#include <algorithm>

#include "fake_ggml.hpp"

namespace vkf::test {

struct CallOptions {
    bool grouped = false; // a workgroup takes the heads of a KV head
    uint32_t splits = 1;  // 0 is 1: ggml says it where it has more workgroups than it wants
    bool mask = false;
    bool sinks = false;
    float maxBias = 0;
    float softcap = 0;
    uint32_t keys = 40;

    uint32_t splitCount() const { return std::max(splits, 1U); }
};

class Call {
public:
    Call(FakeDevice& device, const CallOptions& options);

    static constexpr uint32_t heads = 4, kvHeads = 2, rows = 3, headDim = 32, maskRows = 5, tileRows = 2;

    FakeConstants constants() const;
    FakeWords words() const;
    std::array<uint32_t, 3> groups() const;
    std::array<uint32_t, 6> reductionWords() const;
    // Set of the attention kernel, whose result goes to the partial results if keys are split.
    VkDescriptorSet attentionSet();
    VkDescriptorSet reductionSet();
    // Other random inputs.
    void fill(uint32_t seed);
    std::vector<float> expected() const;
    std::vector<float> got() const { return {result.floats(), result.floats() + heads * rows * headDim}; }

    FakeBuffer q, k, v, maskBuffer, sinkBuffer, result, partial;

private:
    double score(uint32_t head, uint32_t row, uint32_t key) const;

    FakeDevice& device_;
    CallOptions options_;
};

} // namespace vkf::test
