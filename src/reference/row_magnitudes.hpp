// SPDX-License-Identifier: MIT
//
// How large the numbers of a row are, and what roundings may change in its o. The verdict makes bounds from both
// (verdict/comparison.hpp); docs/semantics.md derives them.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "reference/algorithm.hpp"
#include "reference/element.hpp"

namespace vkf::reference {

// Returns by how much roundings may change a score. Products of random signs add up to an error of about half a unit of
// fp32 at the lengths of their two rows. A sum of terms adds half a unit of the score. An error over 1 says nothing of
// p, and would hide any wrong number: the fp32 runs alone judge such rows.
inline double scoreError(double sizeOfScore) {
    const double error = 0x1p-24 * sizeOfScore;
    return error <= 1.0 ? error : 0.0;
}

// Takes the keys of a row twice: once for the magnitudes, and once more, when o is known, for its error.
class RowMagnitudeSums {
public:
    explicit RowMagnitudeSums(const Call& call)
        : scale_(std::abs(static_cast<double>(call.problem.scale))), product_(call.options.productType),
          values_(padded(call.layout(VKF_TENSOR_V).dim)), squares_(values_.size()) {}

    void begin(double normOfQuery) {
        normOfQuery_ = normOfQuery;
        scores_ = 0.0;
        std::fill(values_.begin(), values_.end(), 0.0);
        std::fill(squares_.begin(), squares_.end(), 0.0);
    }

    // `slope` is that of the softcap and of a score function, p the probability times any number.
    void addKey(const KvHead& head, int64_t key, double slope, double p) {
        scores_ += p == 0.0 ? 0.0 : p * productsOf(head, key, slope);
        const float* v = valuesOf(head, key);
        for (size_t column = 0; column < values_.size(); column++) {
            values_[column] += p * std::abs(head.valueScale * static_cast<double>(v[column]));
        }
    }

    // Adds what the roundings of p change in o. p is the probability times l, `kept` the factor of dropout.
    void addError(const KvHead& head, int64_t key, double s, double slope, double p, double l, double kept,
                  const double* o) {
        const double ofScore = p / l * scoreError(std::abs(s) + productsOf(head, key, slope));
        const double ofProduct = product_ == VKF_TYPE_F32 ? 0.0 : kept / l * ulp(product_, p) / std::sqrt(12.0);
        const float* v = valuesOf(head, key);
        for (size_t column = 0; column < squares_.size(); column++) {
            const double x = head.valueScale * static_cast<double>(v[column]);
            squares_[column] += square(ofScore * (kept * x - o[column])) + square(ofProduct * x);
        }
    }

    // `l` is the sum of all p of addKey.
    RowMagnitudes magnitudes(double l) const {
        return l > 0.0 ? RowMagnitudes{largestFinite(values_) / l, scores_ / l, std::sqrt(largestFinite(squares_))}
                       : RowMagnitudes{};
    }

private:
    static double square(double x) { return x * x; }
    static const float* valuesOf(const KvHead& head, int64_t key) {
        return head.v.data() + static_cast<size_t>(key) * head.columns;
    }
    double productsOf(const KvHead& head, int64_t key, double slope) const {
        return std::abs(slope) * scale_ * normOfQuery_ * head.keyScale * head.normsOfK[static_cast<size_t>(key)];
    }

    double scale_;
    VkfType product_;
    double normOfQuery_ = 0.0;
    double scores_ = 0.0;
    std::vector<double> values_;  // sums of p |v|, by column
    std::vector<double> squares_; // of the errors of o, by column
};

} // namespace vkf::reference
