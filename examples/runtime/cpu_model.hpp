// SPDX-License-Identifier: MIT
//
// The model of GpuModel on the CPU in fp64. Attention and cache come from the reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model.hpp"

class CpuModel {
public:
    CpuModel(const Weights& weights, const std::vector<int32_t>& blockTable);

    // Takes in a token. Returns the logits after it. One token at a time sees what a causal mask shows, without a mask.
    std::vector<double> forward(int32_t token);

private:
    struct Cache {
        std::vector<std::byte> k;
        std::vector<std::byte> v;
    };
    std::vector<double> attention(Cache& cache, std::vector<float>& qkv);

    const Weights& weights_;
    const std::vector<int32_t>& blockTable_;
    std::vector<Cache> caches_;
    int32_t length_ = 0;
};
