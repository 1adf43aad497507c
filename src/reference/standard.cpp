// SPDX-License-Identifier: MIT
//
// Standard attention in three steps over full matrices: S = scale q k^T, P = softmax(S) in the place of S, o = P v. S
// and P of one block of rows are in memory at a time.
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "reference/algorithm.hpp"
#include "reference/row_scores.hpp"

namespace vkf::reference {
namespace {

class Standard final : public Algorithm {
public:
    explicit Standard(const Call& call)
        : call_(call), scores_(call), lse_(std::min(call.options.tileRows, call.rows)),
          matrix_(lse_.size() * call.problem.keys), o_(padded(call.layout(VKF_TENSOR_V).dim)) {}

    void compute(const RowBlock& block, const Output& output) noexcept override {
        computeScores(block);
        for (uint32_t i = 0; i < block.rows; i++) {
            scores_.load(block, block.first + i);
            softmax(i);
        }
        for (uint32_t i = 0; i < block.rows; i++) {
            computeOutput(block, i, output.row(call_, block, block.first + i));
        }
    }

private:
    double* rowOf(uint32_t i) { return matrix_.data() + size_t{i} * call_.problem.keys; }

    // The score of a dropped key is -infinity.
    void computeScores(const RowBlock& block) {
        std::fill(matrix_.begin(), matrix_.end(), -std::numeric_limits<double>::infinity());
        for (uint32_t i = 0; i < block.rows; i++) {
            scores_.load(block, block.first + i);
            scores_.forEachVisible([&](KeyRange keys) { scores_.compute(*block.head, keys, rowOf(i) + keys.begin); });
        }
    }

    void softmax(uint32_t i) {
        const std::span<double> row(rowOf(i), call_.problem.keys);
        double m = -std::numeric_limits<double>::infinity();
        for (const double s : row) {
            m = std::max(m, s);
        }
        double l = 0.0;
        for (double& x : row) {
            x = std::exp(x - finiteMaximum(m));
            l += x;
        }
        const FinishedRow<double> finished = scores_.finished(m, l);
        lse_[i] = finished.lse;
        for (double& x : row) {
            x = x == 0.0 ? 0.0 : x / finished.l; // 0 for a dropped key, even if l is NaN or 0
        }
    }

    void computeOutput(const RowBlock& block, uint32_t i, RowResult result) {
        const double* p = rowOf(i);
        std::fill(o_.begin(), o_.end(), 0.0);
        scores_.load(block, block.first + i);
        scores_.forEachVisible([&](KeyRange keys) { // a dropped key's value may be NaN
            for (int64_t key = keys.begin; key < keys.end; key++) {
                addValue<double, false>(*block.head, scores_.afterDropout(p[key], key), key, o_.data());
            }
        });
        std::copy_n(o_.begin(), call_.layout(VKF_TENSOR_O).dim, result.o);
        if (result.lse != nullptr) {
            *result.lse = lse_[i];
        }
        if (result.probabilities != nullptr) {
            std::copy_n(p, call_.problem.keys, result.probabilities);
        }
    }

    const Call& call_;
    RowScores scores_;
    std::vector<double> lse_;    // [rows of a block]
    std::vector<double> matrix_; // S, then P: [rows of a block][keys]
    std::vector<double> o_;
};

} // namespace

std::unique_ptr<Algorithm> makeStandard(const Call& call) { return std::make_unique<Standard>(call); }

} // namespace vkf::reference
