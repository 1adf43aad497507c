// SPDX-License-Identifier: MIT
#include "cpu_model.hpp"

#include <cmath>

#include <vkflash/problem.hpp>
#include <vkflash/reference.h>

#include "program.hpp"

namespace {

using Rows = std::vector<double>;

// Multiplies each row of x by the weight matrix.
Rows multiply(const std::vector<float>& weight, const Rows& x, uint32_t inputs) {
    const size_t outputs = weight.size() / inputs;
    Rows y(x.size() / inputs * outputs);
    for (size_t i = 0; i < y.size(); i++) {
        const double* row = &x[i / outputs * inputs];
        const float* of = &weight[i % outputs * inputs];
        for (uint32_t j = 0; j < inputs; j++) {
            y[i] += static_cast<double>(of[j]) * row[j];
        }
    }
    return y;
}

Rows rmsNorm(const std::vector<float>& weight, const Rows& x) {
    Rows y(x.size());
    for (size_t begin = 0; begin < x.size(); begin += width) {
        double sum = 0.0;
        for (uint32_t i = 0; i < width; i++) {
            sum += x[begin + i] * x[begin + i];
        }
        for (uint32_t i = 0; i < width; i++) {
            y[begin + i] = x[begin + i] / std::sqrt(sum / width + 1e-5) * static_cast<double>(weight[i]);
        }
    }
    return y;
}

Rows swiglu(const Rows& gateAndUp) {
    Rows y(gateAndUp.size() / 2);
    for (size_t i = 0; i < y.size(); i++) {
        const size_t at = i / hidden * 2 * hidden + i % hidden;
        y[i] = gateAndUp[at] / (1.0 + std::exp(-gateAndUp[at])) * gateAndUp[at + hidden];
    }
    return y;
}

void add(Rows& x, const Rows& y) {
    for (size_t i = 0; i < x.size(); i++) {
        x[i] += y[i];
    }
}

} // namespace

CpuModel::CpuModel(const Weights& weights, const std::vector<int32_t>& blockTable)
    : weights_(weights), blockTable_(blockTable), caches_(layers) {
    const VkfAppendProblem problem = appendProblem(1);
    const VkfTensorLayout k = vkf::layoutOf(problem, VKF_APPEND_K);
    const VkfTensorLayout v = vkf::layoutOf(problem, VKF_APPEND_V);
    for (Cache& cache : caches_) {
        cache.k.resize(vkfStoredBytes(k.type, k.elements));
        cache.v.resize(vkfStoredBytes(v.type, v.elements));
    }
}

std::vector<double> CpuModel::attention(Cache& cache, std::vector<float>& qkv) {
    VkfMessage message{};
    int32_t newLength = 0;
    const VkfAppendProblem append = appendProblem(1);
    auto buffers = vkf::make<VkfAppendBuffers>();
    buffers.q = buffers.rotatedQ = qkv.data();
    buffers.newK = &qkv[size_t{heads} * headDim];
    buffers.newV = &qkv[size_t{heads + kvHeads} * headDim];
    buffers.k = cache.k.data();
    buffers.v = cache.v.data();
    buffers.lengths = &length_;
    buffers.newLengths = &newLength;
    buffers.blockTable = blockTable_.data();
    check(vkfReferenceAppend(&append, &buffers, &message), message);

    const VkfProblem problem = attentionProblem(1);
    auto inputs = vkf::make<VkfReferenceInputs>();
    inputs.q = qkv.data();
    inputs.k = cache.k.data();
    inputs.v = cache.v.data();
    inputs.keyLengths = &newLength;
    inputs.blockTable = blockTable_.data();
    std::vector<double> o(width); // [heads, headDim]
    check(vkfReferenceAttention(&problem, &inputs, nullptr, o.data(), nullptr, &message), message);
    return o;
}

std::vector<double> CpuModel::forward(int32_t token) {
    const auto begin = weights_.embedding.begin() + static_cast<std::ptrdiff_t>(token) * width;
    Rows x(begin, begin + width);
    for (uint32_t i = 0; i < layers; i++) {
        const Layer& layer = weights_.layer[i];
        const Rows qkv = multiply(layer.qkv, rmsNorm(layer.attentionNorm, x), width);
        std::vector<float> stored(qkv.begin(), qkv.end());
        add(x, multiply(layer.attentionOutput, attention(caches_[i], stored), width));
        const Rows gateAndUp = multiply(layer.gateAndUp, rmsNorm(layer.mlpNorm, x), width);
        add(x, multiply(layer.down, swiglu(gateAndUp), hidden));
    }
    length_++;
    return multiply(weights_.output, rmsNorm(weights_.norm, x), width);
}
