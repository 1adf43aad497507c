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

    // Takes in new tokens. Returns the logits after the last one.
    std::vector<double> forward(const std::vector<int32_t>& tokens);

private:
    struct Cache {
        std::vector<std::byte> k;
        std::vector<std::byte> v;
    };
    std::vector<double> attention(Cache& cache, std::vector<float>& qkv, uint32_t rows);

    const Weights& weights_;
    const std::vector<int32_t>& blockTable_;
    std::vector<Cache> caches_;
    int32_t length_ = 0;
};
