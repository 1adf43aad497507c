// SPDX-License-Identifier: MIT
//
// Makes P from a saved lse, as a backward pass does that kept one number for each row instead of P (Dao et al. 2022,
// arXiv 2205.14135, section 3.1). P[i, j] = exp(s[i, j] - lse[i]) is already normalised, so that no maximum and no sum
// are needed.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "reference/algorithm.hpp"
#include "reference/row_scores.hpp"

namespace vkf::reference {
namespace {

class Recompute final : public Algorithm {
public:
    explicit Recompute(const Call& call)
        : call_(call), scores_(call), p_(call.problem.keys), o_(padded(call.layout(VKF_TENSOR_V).dim)) {}

    void compute(const RowBlock& block, const Output& output) noexcept override {
        for (uint32_t selected = block.first; selected < block.first + block.rows; selected++) {
            const uint64_t head = call_.headNumber(block.batch, block.queryHead);
            const double lse = call_.options.savedLse[head * call_.problem.queryRows + call_.row(selected)];
            scores_.load(block, selected);
            computeRow(*block.head, lse, output.row(call_, block, selected));
        }
    }

private:
    void computeRow(const KvHead& head, double lse, RowResult result) {
        const bool empty = std::isinf(lse);
        std::fill(p_.begin(), p_.end(), 0.0);
        std::fill(o_.begin(), o_.end(), 0.0);
        if (!empty) {
            scores_.forEachVisible([&](KeyRange keys) { addKeys(head, keys, lse); });
        }
        std::copy_n(o_.begin(), call_.layout(VKF_TENSOR_O).dim, result.o);
        if (result.lse != nullptr) {
            *result.lse = empty ? -std::numeric_limits<double>::infinity() : lse;
        }
        if (result.probabilities != nullptr) {
            std::copy(p_.begin(), p_.end(), result.probabilities);
        }
    }

    void addKeys(const KvHead& head, KeyRange keys, double lse) {
        scores_.compute(head, keys, &p_[static_cast<size_t>(keys.begin)]);
        for (int64_t key = keys.begin; key < keys.end; key++) {
            double& p = p_[static_cast<size_t>(key)];
            p = std::exp(p - lse);
            addValue<double, false>(head, scores_.afterDropout(p, key), key, o_.data());
        }
    }

    const Call& call_;
    RowScores scores_;
    std::vector<double> p_; // [keys]
    std::vector<double> o_;
};

} // namespace

std::unique_ptr<Algorithm> makeRecompute(const Call& call) { return std::make_unique<Recompute>(call); }

} // namespace vkf::reference
