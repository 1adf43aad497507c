// SPDX-License-Identifier: MIT
//
// The formula, row by row in fp64: all scores, their maximum, the probabilities and their sum, the weighted sum. Its
// results for numbers that are not finite are the contract:
// - A score of -infinity has probability 0.
// - A row in which all scores are -infinity is empty.
// - A score of +infinity makes the row NaN, because infinity - infinity is NaN.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "reference/algorithm.hpp"
#include "reference/row_magnitudes.hpp"
#include "reference/row_scores.hpp"

namespace vkf::reference {
namespace {

class Direct final : public Algorithm {
public:
    explicit Direct(const Call& call)
        : call_(call), scores_(call), s_(call.problem.keys), slopes_(s_.size()),
          o_(padded(call.layout(VKF_TENSOR_V).dim)), magnitudes_(call) {}

    void compute(const RowBlock& block, const Output& output) noexcept override {
        for (uint32_t selected = block.first; selected < block.first + block.rows; selected++) {
            scores_.load(block, selected);
            computeRow(*block.head, output.row(call_, block, selected));
        }
    }

private:
    void computeRow(const KvHead& head, RowResult result) {
        constexpr double infinity = std::numeric_limits<double>::infinity();
        double maximum = -infinity;
        scores_.forEachVisible([&](KeyRange keys) {
            const auto first = static_cast<size_t>(keys.begin);
            scores_.compute(head, keys, &s_[first], &slopes_[first]);
            for (auto key = static_cast<size_t>(keys.begin); key < static_cast<size_t>(keys.end); key++) {
                maximum = std::max(maximum, s_[key]);
            }
        });
        // If all scores are -infinity, p is 0 for any finite m.
        const double m = maximum == -infinity ? 0.0 : maximum;
        double l = 0.0;
        std::fill(o_.begin(), o_.end(), 0.0);
        magnitudes_.begin(scores_.normOfQuery());
        scores_.forEachVisible([&](KeyRange keys) {
            for (int64_t key = keys.begin; key < keys.end; key++) {
                const auto at = static_cast<size_t>(key);
                const double p = std::exp(s_[at] - m);
                l += p;
                addValue<double, false>(head, scores_.afterDropout(p, key), key, o_.data());
                if (result.magnitudes != nullptr) {
                    magnitudes_.addKey(head, key, slopes_[at], p);
                }
            }
        });
        const FinishedRow<double> finished = scores_.finished(m, l);
        for (uint32_t column = 0; column < call_.layout(VKF_TENSOR_O).dim; column++) {
            result.o[column] = finished.l == 0.0 ? 0.0 : o_[column] / finished.l;
        }
        if (result.lse != nullptr) {
            *result.lse = finished.lse;
        }
        if (result.magnitudes != nullptr) {
            if (finished.l > 0.0) {
                addErrors(head, m, finished.l, result.o);
            }
            *result.magnitudes = magnitudes_.magnitudes(l);
        }
    }

    // The row's keys once more, now that o and l with the sink are known.
    void addErrors(const KvHead& head, double m, double l, const double* o) {
        std::fill(o_.begin(), o_.end(), 0.0);
        std::copy_n(o, call_.layout(VKF_TENSOR_O).dim, o_.begin());
        scores_.forEachVisible([&](KeyRange keys) {
            for (int64_t key = keys.begin; key < keys.end; key++) {
                const auto at = static_cast<size_t>(key);
                magnitudes_.addError(head, key, s_[at], slopes_[at], std::exp(s_[at] - m), l,
                                     scores_.afterDropout(1.0, key), o_.data());
            }
        });
    }

    const Call& call_;
    RowScores scores_;
    std::vector<double> s_;      // by key
    std::vector<double> slopes_; // of the softcap, by key
    std::vector<double> o_;
    RowMagnitudeSums magnitudes_;
};

} // namespace

std::unique_ptr<Algorithm> makeDirect(const Call& call) { return std::make_unique<Direct>(call); }

} // namespace vkf::reference
