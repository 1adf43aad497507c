// SPDX-License-Identifier: MIT
//
// The arguments that both functions of FlashAttention 2 have, and what they mean for one row.
#pragma once

#include <cstdlib>
#include <optional>

#include "reference/mapping.hpp"

namespace vkf::test::mapping {

// The arguments that both functions have. Zero softcap and empty slopes are None.
struct Terms {
    std::optional<float> softmaxScale;
    bool causal = false;
    int64_t left = -1; // window_size
    int64_t right = -1;
    float softcap = 0;
    std::vector<float> alibiSlopes; // (heads)

    // FlashAttention 2 has a kernel for causal masks without any other limit.
    bool isCausalAlone() const { return left < 0 && (causal || right == 0); }
};

struct Heads {
    size_t heads = 0;
    size_t kvHeads = 0;
    size_t dim = 0;

    size_t kvHead(size_t head) const { return head / (heads / kvHeads); }
};

// Row i of `rows`, over `keys` keys of which the first `leftpad` do not count.
struct Place {
    int64_t i = 0;
    int64_t rows = 0;
    int64_t keys = 0;
    int64_t leftpad = 0;
};

// dot(j) is the product of q and key j.
template <typename Dot, typename Value>
Row flashRow(const Terms& t, const Heads& n, size_t head, const Place& place, const Dot& dot, const Value& value) {
    const auto [i, rows, keys, leftpad] = place;
    const double scale = t.softmaxScale ? *t.softmaxScale : 1.0 / std::sqrt(static_cast<double>(n.dim));
    const int64_t right = t.causal ? 0 : t.right;
    const int64_t at = i + keys - rows; // the last row stands at the last key
    std::vector<double> scores;
    for (int64_t j = 0; j < keys; j++) {
        double s = scale * dot(static_cast<size_t>(j));
        if (t.softcap != 0) {
            s = t.softcap * std::tanh(s / t.softcap);
        }
        if (!t.alibiSlopes.empty()) {
            const double slope = t.alibiSlopes[head];
            s += t.isCausalAlone() ? slope * static_cast<double>(j) : -slope * static_cast<double>(std::abs(at - j));
        }
        const bool seen = j >= leftpad && (t.left < 0 || j >= at - t.left) && (right < 0 || j <= at + right);
        scores.push_back(seen ? s : -infinity);
    }
    Row row = attend(scores, n.dim, value);
    if (row.lse == -infinity) { // an empty row
        row.lse = infinity;
    }
    return row;
}

// "an empty row has -infinity here, +infinity in FlashAttention 2": what lse must be here.
inline std::vector<double> lseHere(std::vector<double> lse) {
    std::replace(lse.begin(), lse.end(), infinity, -infinity);
    return lse;
}

// The strides of (rows, heads, dim): headStride = dim, rowStride = heads * dim.
inline VkfTensor packedTensor(size_t heads, size_t dim) {
    VkfTensor tensor{};
    tensor.headStride = dim;
    tensor.rowStride = heads * dim;
    return tensor;
}

inline VkfTensor pagedTensor(size_t pageSize, size_t heads, size_t dim) {
    VkfTensor tensor = packedTensor(heads, dim);
    tensor.batchStride = pageSize * heads * dim;
    return tensor;
}

} // namespace vkf::test::mapping
