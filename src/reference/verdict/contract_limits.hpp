// SPDX-License-Identifier: MIT
//
// Where the contract promises nothing: inputs so large that a sum of products leaves fp32 (docs/semantics.md, "Finite
// inputs"). Numbers that are not finite are left out: the exact run says what they lead to.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "problem/problem.hpp"
#include "reference/call.hpp"
#include "reference/element.hpp"

namespace vkf::reference {

inline constexpr double largestSum = 0x1p126;      // of the magnitudes of products, before and after the scale
inline constexpr double largestOfValues = 0x1p119; // a value times the number of keys

// The largest magnitude of the finite numbers of a tensor.
inline double largestFinite(const VkfTensorLayout& layout, const void* memory) {
    std::vector<double> row(layout.dim);
    double largest = 0.0;
    for (uint64_t i = 0; memory != nullptr && i < uint64_t{layout.batch} * layout.heads * layout.rows; i++) {
        const uint64_t head = i / layout.rows;
        const uint64_t first = elementOf(layout, head / layout.heads, head % layout.heads, i % layout.rows);
        loadElements(layout.type, memory, first, layout.dim, row.data(), 1);
        largest = std::max(largest, largestFinite(row));
    }
    return largest;
}

class ContractLimits {
public:
    explicit ContractLimits(const Call& call)
        : call_(call), q_(call.problem.headDim),
          largestK_(call.empty() ? 0.0 : largestFinite(call.layout(VKF_TENSOR_K), call.inputs.k)),
          largestV_(call.empty() ? 0.0 : largestFinite(call.layout(VKF_TENSOR_V), call.inputs.v)) {}

    // True if a sum of the row may leave fp32, or the type of matrices.
    bool mayOverflow(uint64_t batch, uint64_t head, uint64_t row) {
        const VkfTensorLayout& layout = call_.layout(VKF_TENSOR_Q);
        loadElements(layout.type, call_.inputs.q, elementOf(layout, batch, head, row), layout.dim, q_.data(), 1);
        return mayOverflow(largestFinite(q_));
    }

    // Whether this is possible for rows with q up to a magnitude.
    bool mayOverflow(double largestQ) const {
        const VkfProblem& p = call_.problem;
        const double scale = std::max(1.0, std::abs(static_cast<double>(p.scale)));
        const bool narrows = (p.q.type == VKF_TYPE_F32 && overflowsF16(largestQ)) ||
                             blockOverflowsF16(p.k.type, largestK_) || blockOverflowsF16(p.v.type, largestV_);
        return narrows || largestQ * largestK_ * p.headDim * scale > largestSum || largestV_ * p.keys > largestOfValues;
    }

    double largestK() const { return largestK_; }
    double largestV() const { return largestV_; }

private:
    // Whether a number becomes infinite in the type of the matrices.
    bool overflowsF16(double magnitude) const {
        return call_.options.productType == VKF_TYPE_F16 && magnitude > formatOf(VKF_TYPE_F16).largest;
    }
    bool blockOverflowsF16(VkfType type, double magnitude) const {
        return isBlockType(type) && overflowsF16(magnitude);
    }

    const Call& call_;
    std::vector<double> q_;
    double largestK_;
    double largestV_;
};

} // namespace vkf::reference
