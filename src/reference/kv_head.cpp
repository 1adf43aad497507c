// SPDX-License-Identifier: MIT
#include "reference/kv_head.hpp"

#include <cmath>

namespace vkf::reference {

KvHead makeKvHead(const Call& call) {
    KvHead head;
    head.headDim = call.problem.headDim;
    head.columns = padded(call.layout(VKF_TENSOR_V).dim);
    head.k.resize(padded(call.problem.keys) * head.headDim);
    head.v.resize(call.problem.keys * head.columns);
    head.normsOfK.resize(call.problem.keys);
    return head;
}

ProductRounding productRounding(const Call& call) {
    switch (call.options.algorithm) {
    case VKF_REFERENCE_TILED_FP32:
        return {call.options.productType, false};
    case VKF_REFERENCE_TILED_FP32_TWO_ROUNDINGS:
        return {call.options.productType, true};
    default:
        return {};
    }
}

namespace {

// Length of a key's row, whose elements are `lanes` apart.
double normOfKey(const float* k, uint32_t dim) {
    double sum = 0.0;
    for (uint32_t d = 0; d < dim; d++) {
        const auto x = static_cast<double>(k[size_t{d} * lanes]);
        sum += x * x;
    }
    return std::sqrt(sum);
}

} // namespace

void loadScales(const Call& call, uint32_t kvHead, KvHead* to) {
    const VkfTensor& k = call.problem.k;
    const VkfTensor& v = call.problem.v;
    const auto scaleOf = [&](const VkfTensor& tensor, uint32_t first) {
        return tensor.scales == 0 ? 1.0F : call.inputs.kvScales[first + (tensor.scales == 1 ? 0 : kvHead)];
    };
    to->keyScale = static_cast<double>(scaleOf(k, 0));
    to->valueScale = static_cast<double>(scaleOf(v, k.scales));
}

void loadKeys(const Call& call, uint32_t batch, uint32_t kvHead, KeyRange keys, KvHead* to, const Pages& pages) {
    const VkfTensorLayout& k = call.layout(VKF_TENSOR_K);
    const VkfTensorLayout& v = call.layout(VKF_TENSOR_V);
    const ProductRounding rounding = productRounding(call);
    for (int64_t key = keys.begin; key < keys.end; key++) {
        if (pages.entries != nullptr && !pages.keeps(key)) {
            continue; // no row sees it
        }
        const auto row = static_cast<uint64_t>(key);
        const Call::KeyIndex index = call.keyIndex(batch, row);
        float* ofK = to->k.data() + row / lanes * lanes * to->headDim + row % lanes;
        float* ofV = to->v.data() + row * to->columns;
        loadElements(k.type, call.inputs.k, elementOf(k, index.batch, kvHead, index.row), k.dim, ofK, lanes, rounding);
        to->normsOfK[row] = normOfKey(ofK, to->headDim);
        loadElements(v.type, call.inputs.v, elementOf(v, index.batch, kvHead, index.row), v.dim, ofV, 1, rounding);
    }
}

} // namespace vkf::reference
