// SPDX-License-Identifier: MIT
//
// The final scores of one query row in fp64, in natural units, and dropout of their probabilities.
#pragma once

#include <cmath>
#include <numeric>
#include <vector>

#include "reference/algorithm.hpp"
#include "reference/dropout.hpp"
#include "reference/element.hpp"
#include "reference/row_state.hpp"
#include "reference/score_terms.hpp"

namespace vkf::reference {

class RowScores {
public:
    explicit RowScores(const Call& call) : call_(call), terms_(call, 1.0), dropout_(call), q_(call.problem.headDim) {}

    // Reads q of the row that is number `selected` among the selected rows, and takes over its masks.
    void load(const RowBlock& block, uint32_t selected) {
        const VkfTensorLayout& q = call_.layout(VKF_TENSOR_Q);
        const uint64_t element = elementOf(q, block.batch, block.queryHead, call_.row(selected));
        loadElements(q.type, call_.inputs.q, element, q.dim, q_.data(), 1);
        row_ = block.row(call_, selected);
        mask_ = block.mask;
        queryHead_ = block.queryHead;
        terms_.load(block.batch, queryHead_, row_, mask_);
        dropout_.load(block.batch, queryHead_, row_);
    }

    // Calls visit(KeyRange) for each range of keys that the row sees, in their order; with `among`, within this range
    // only.
    template <typename Visit> void forEachVisible(const Visit& visit) const { forEachVisible({0, mask_.keys}, visit); }
    template <typename Visit> void forEachVisible(KeyRange among, const Visit& visit) const {
        forEachOpen(mask_, row_, intersection(visibleKeys(mask_, row_), among), visit);
    }

    // Writes the scores of the keys of a range to s[0 ...].
    void compute(const KvHead& head, KeyRange keys, double* s) const {
        dotKeys<double, false>(head, q_.data(), keys, s);
        for (int64_t j = 0; j < keys.end - keys.begin; j++) {
            s[j] = terms_.add(finalScore(s[j]), keys.begin + j);
        }
    }

    // As compute. Also writes the derivatives of the scores by those before softcap to slopes[0 ...].
    void compute(const KvHead& head, KeyRange keys, double* s, double* slopes) const {
        dotKeys<double, false>(head, q_.data(), keys, s);
        for (int64_t j = 0; j < keys.end - keys.begin; j++) {
            const double capped = finalScore(s[j]);
            const auto softcap = static_cast<double>(call_.problem.softcap);
            slopes[j] = softcap > 0.0 ? 1.0 - capped / softcap * (capped / softcap) : 1.0;
            slopes[j] *= terms_.derivative(capped, keys.begin + j);
            s[j] = terms_.add(capped, keys.begin + j);
        }
    }

    const std::vector<double>& query() const { return q_; }
    double normOfQuery() const { return std::sqrt(std::inner_product(q_.begin(), q_.end(), q_.begin(), 0.0)); }

    // A key's probability on its way into o.
    double afterDropout(double p, int64_t key) const { return p * dropout_.factor(key); }

    FinishedRow<double> finished(double m, double l) const {
        return finishRow(call_, ScoreUnit<double>(true), queryHead_, m, l);
    }

private:
    double finalScore(double dot) const {
        const double s = static_cast<double>(call_.problem.scale) * dot;
        const auto softcap = static_cast<double>(call_.problem.softcap);
        return softcap > 0.0 ? softcap * std::tanh(s / softcap) : s;
    }

    const Call& call_;
    RowTerms<double, false> terms_;
    RowDropout dropout_;
    std::vector<double> q_;
    uint32_t row_ = 0;
    uint32_t queryHead_ = 0;
    Mask mask_{};
};

} // namespace vkf::reference
