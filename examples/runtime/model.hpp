// SPDX-License-Identifier: MIT
//
// A small llama-style decoder with random weights, and the description of its cache of k and v.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include <vkflash/vkflash.hpp>

constexpr uint32_t layers = 2;
constexpr uint32_t heads = 8;
constexpr uint32_t kvHeads = 2;
constexpr uint32_t headDim = 64;
constexpr uint32_t vocabulary = 256;
constexpr uint32_t width = heads * headDim;
constexpr uint32_t qkvWidth = (heads + 2 * kvHeads) * headDim; // a row has q, k and v side by side
constexpr uint32_t hidden = 1024;                              // width of the MLP's inner layer
constexpr uint32_t context = 256;                              // capacity of the cache in tokens

// Type and pages of the cache. Any type that vkfCmdAppend writes and any page size work. With fp32 and fp16 the logits
// differ less from the CPU run.
constexpr VkfType cacheType = VKF_TYPE_Q8_0;
constexpr uint32_t pageSize = 16; // rows
constexpr uint32_t pages = context / pageSize;

// Matrices are [outputs, inputs].
struct Layer {
    std::vector<float> attentionNorm;
    std::vector<float> qkv;
    std::vector<float> attentionOutput;
    std::vector<float> mlpNorm;
    std::vector<float> gateAndUp;
    std::vector<float> down;
};

struct Weights {
    std::vector<float> embedding;
    std::vector<Layer> layer;
    std::vector<float> norm;
    std::vector<float> output;
};

inline Weights randomWeights() {
    std::mt19937 random(1);
    std::normal_distribution<float> normal(0.0F, 1.0F);
    const auto matrix = [&](uint32_t outputs, uint32_t inputs) {
        std::vector<float> values(size_t{outputs} * inputs);
        for (float& value : values) {
            value = normal(random) / std::sqrt(static_cast<float>(inputs));
        }
        return values;
    };
    const auto norm = [&] {
        std::vector<float> values(width);
        for (float& value : values) {
            value = 1.0F + 0.1F * normal(random);
        }
        return values;
    };
    Weights weights;
    weights.embedding = matrix(vocabulary, width);
    for (uint32_t i = 0; i < layers; i++) {
        weights.layer.push_back({norm(), matrix(qkvWidth, width), matrix(width, width), norm(),
                                 matrix(2 * hidden, width), matrix(width, hidden)});
    }
    weights.norm = norm();
    weights.output = matrix(vocabulary, width);
    return weights;
}

// Layout of the heads that start at some column of the rows of q, k and v.
inline VkfTensor partOfQkv(uint32_t rows) {
    VkfTensor tensor = vkf::dense(VKF_TYPE_F32);
    tensor.batchStride = uint64_t{rows} * qkvWidth;
    tensor.headStride = headDim;
    tensor.rowStride = qkvWidth;
    return tensor;
}

inline VkfPaging paging() { return {pageSize, pages, pages, 0}; }

// Appends `rows` new tokens: their k and v go into the cache, and their q is rotated in place.
inline VkfAppendProblem appendProblem(uint32_t rows) {
    auto problem = vkf::make<VkfAppendProblem>();
    problem.batch = 1;
    problem.kvHeads = kvHeads;
    problem.queryHeads = heads;
    problem.rows = rows;
    problem.keys = context;
    problem.headDim = headDim;
    problem.newK = problem.newV = problem.q = problem.rotatedQ = partOfQkv(rows);
    problem.k = problem.v = vkf::dense(cacheType);
    problem.paging = paging();
    problem.rotary.pairs = VKF_ROTARY_HALVES;
    problem.use = VKF_USE_BLOCK_TABLE | VKF_USE_QUERIES | VKF_USE_NEW_LENGTHS;
    return problem;
}

// The new tokens see the content of the cache, each up to its own position.
inline VkfProblem attentionProblem(uint32_t rows) {
    auto problem = vkf::make<VkfProblem>();
    problem.batch = 1;
    problem.queryHeads = heads;
    problem.kvHeads = kvHeads;
    problem.queryRows = rows;
    problem.keys = context;
    problem.headDim = headDim;
    problem.q = partOfQkv(rows);
    problem.k = problem.v = vkf::dense(cacheType);
    problem.o = vkf::rowsFirst(VKF_TYPE_F32, rows, heads, headDim);
    // By default, matrix units round an fp32 q to 16 bits. Here the CPU checks the logits, so products stay in fp32.
    problem.precision = VKF_PRECISION_FP32;
    problem.use = VKF_USE_CAUSAL | VKF_USE_KEY_LENGTHS | VKF_USE_BLOCK_TABLE;
    problem.paging = paging();
    return problem;
}
