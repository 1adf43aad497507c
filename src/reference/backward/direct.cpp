// SPDX-License-Identifier: MIT
//
// The formulas of backward_problem.h, row by row in fp64. On request it also estimates what the roundings of a kernel
// may change; docs/semantics.md derives the estimate.
#include <algorithm>
#include <cmath>
#include <vector>

#include "reference/backward/algorithm.hpp"
#include "reference/backward/errors.hpp"
#include "reference/backward/head.hpp"
#include "reference/row_scores.hpp"

namespace vkf::reference {
namespace {

using Fp64Row = std::vector<double>;

double dot(const Fp64Row& a, const Fp64Row& b, uint32_t count) {
    double sum = 0.0;
    for (uint32_t d = 0; d < count; d++) {
        sum += a[d] * b[d];
    }
    return sum;
}

class DirectBackward final : public BackwardAlgorithm {
public:
    DirectBackward(const BackwardCall& call, const GradientOutput& output, const GradientOutput& errors)
        : call_(call), output_(output), head_(call), scores_(call.forward), d_(call.forward.problem.headDim),
          dv_(call.layout(VKF_BACKWARD_DV).dim), s_(call.forward.problem.keys), slopes_(s_.size()), dp_(s_.size()),
          dq_(padded(d_)), dout_(dv_), o_(dv_), errors_(call, errors) {}

    void compute(uint32_t batch, uint32_t kvHead) override {
        const uint32_t group = call_.forward.problem.queryHeads / call_.forward.problem.kvHeads;
        const Call::Span rows = call_.forward.rowsOf(batch);
        kvHead_ = kvHead;
        keys_ = call_.forward.keysOf(batch);
        head_.load(batch, kvHead);
        errors_.load(head_);
        for (uint32_t queryHead = kvHead * group; queryHead < (kvHead + 1) * group; queryHead++) {
            const RowBlock block{&head_.scores(), call_.maskFor(batch, queryHead), batch, queryHead, rows.begin, 0, 0};
            for (uint32_t row = rows.begin; row < rows.end; row++) {
                addRowGradient(block, row);
            }
        }
    }

private:
    // `row` counts the rows of all packed sequences.
    void addRowGradient(const RowBlock& block, uint32_t row) {
        const uint64_t number = call_.rowNumber(block.batch, block.queryHead, row);
        const double lse = call_.lseOf(number);
        if (std::isinf(lse)) {
            return; // an empty row
        }
        scores_.load(block, row);
        call_.loadDout(block.batch, block.queryHead, row, dout_.data());
        call_.loadO(block.batch, block.queryHead, row, o_.data());
        const double delta = dot(dout_, o_, dv_) - call_.dlseOf(number);
        errors_.loadRow(block, number, scores_.query(), dout_, o_);
        if (output_.dsinks != nullptr && hasSink(call_.forward, block.queryHead)) {
            addSink(block, lse, delta);
        }
        const bool selected = call_.selects(row);
        std::fill(dq_.begin(), dq_.end(), 0.0);
        scores_.forEachVisible([&](KeyRange visible) {
            forEachWanted(call_, visible, keys_.begin, selected,
                          [&](KeyRange keys) { addKeys(block, row, keys, lse, delta); });
        });
        if (selected && output_.dq != nullptr) {
            std::copy_n(dq_.begin(), d_, &output_.dq[number * d_]);
            errors_.endRow(&output_.dq[number * d_], number);
        }
    }

    void addSink(const RowBlock& block, double lse, double delta) {
        const auto sink = static_cast<double>(call_.forward.inputs.sinks[block.queryHead]);
        const double p = std::exp(sink - lse);
        const uint64_t sum = uint64_t{block.batch} * call_.forward.problem.queryHeads + block.queryHead;
        output_.dsinks[sum] -= p * delta;
        errors_.addSink(sum, sink, p, delta);
    }

    void addKeys(const RowBlock& block, uint32_t row, KeyRange keys, double lse, double delta) {
        const auto scale = static_cast<double>(call_.forward.problem.scale);
        scores_.compute(head_.scores(), keys, s_.data(), slopes_.data());
        dotKeys<double, false>(head_.values(), dout_.data(), keys, dp_.data());
        const uint64_t bias = call_.biasElement(block.batch, block.queryHead, row - block.firstRow);
        for (int64_t key = keys.begin; key < keys.end; key++) {
            const auto at = static_cast<size_t>(key - keys.begin);
            const double kept = scores_.afterDropout(1.0, key);
            const double p = std::exp(s_[at] - lse);
            const double ds = p * (kept * dp_[at] - delta);
            const double dt = scale * slopes_[at] * ds;
            addValue<double, false>(head_.values(), dt, key, dq_.data());
            errors_.addPair({key, s_[at], p, kept, ds, scale * slopes_[at], bias + static_cast<uint64_t>(key)});
            if (call_.selects(static_cast<uint64_t>(keys_.begin + key))) {
                addToKey(block.batch, key, p * kept, dt);
            }
            if (output_.dbias != nullptr) {
                output_.dbias[bias + static_cast<uint64_t>(key)] += call_.biasFactor(block.queryHead) * ds;
            }
        }
    }

    void addToKey(uint32_t batch, int64_t key, double p, double dt) {
        const uint64_t number = call_.keyNumber(batch, kvHead_, keys_.begin + static_cast<uint32_t>(key));
        if (output_.dk != nullptr) {
            addRow<double, false>(dt, scores_.query().data(), d_, &output_.dk[number * d_]);
        }
        if (output_.dv != nullptr) {
            addRow<double, false>(p, dout_.data(), dv_, &output_.dv[number * dv_]);
        }
        errors_.addToKey(number);
    }

    const BackwardCall& call_;
    GradientOutput output_;
    BackwardHead head_;
    RowScores scores_;
    uint32_t d_;  // columns of dq and dk
    uint32_t dv_; // columns of dv and dout
    Fp64Row s_;   // of the keys of a range
    Fp64Row slopes_;
    Fp64Row dp_;
    Fp64Row dq_;
    Fp64Row dout_;
    Fp64Row o_;
    GradientErrors errors_;
    uint32_t kvHead_ = 0;
    Call::Span keys_{};
};

} // namespace

std::unique_ptr<BackwardAlgorithm> makeDirectBackward(const BackwardCall& call, const GradientOutput& output,
                                                      const GradientOutput& errors) {
    return std::make_unique<DirectBackward>(call, output, errors);
}

} // namespace vkf::reference
