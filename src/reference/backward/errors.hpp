// SPDX-License-Identifier: MIT
//
// What the roundings of a kernel may change in each gradient, to first order. Roundings of different pairs of a row and
// a key are taken for independent, so their squares add up. docs/semantics.md derives the terms.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "reference/algorithm.hpp"
#include "reference/backward/algorithm.hpp"
#include "reference/backward/head.hpp"
#include "reference/element.hpp"

namespace vkf::reference {

class GradientErrors {
public:
    // A pair of a row and a key that the row sees.
    struct Pair {
        int64_t key;
        double s; // the final score
        double p;
        double kept;
        double ds;
        double factor;        // scale times the derivative of the capped score
        uint64_t biasElement; // element of the bias
    };

    GradientErrors(const BackwardCall& call, const GradientOutput& errors)
        : call_(call), errors_(errors), on_(errors.dq != nullptr || errors.dk != nullptr || errors.dv != nullptr ||
                                            errors.dbias != nullptr || errors.dsinks != nullptr),
          product_(call.forward.options.productType), squares_(call.forward.problem.headDim),
          response_(call.forward.problem.headDim) {}

    void load(const BackwardHead& head) { head_ = &head; }

    void loadRow(const RowBlock& block, uint64_t rowNumber, const std::vector<double>& q,
                 const std::vector<double>& dout, const std::vector<double>& o) {
        if (!on_) {
            return;
        }
        queryHead_ = block.queryHead;
        q_ = q.data();
        dout_ = dout.data();
        normOfQ_ = norm(q.data(), q.size());
        normOfDout_ = norm(dout.data(), dout.size());
        lse_ = std::abs(call_.lseOf(rowNumber));
        lseError_ = meaningful(unit * lse_ + (call_.inputs.lse != nullptr ? 0.0 : 4 * unit * std::max(lse_, 1.0)));
        deltaError_ = unit * (normOfDout_ * norm(o.data(), o.size()) + std::abs(call_.dlseOf(rowNumber)));
        if (call_.inputs.o == nullptr) {
            const double largest =
                *std::max_element(o.begin(), o.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
            deltaError_ += normOfDout_ * (ulp(call_.forward.problem.o.type, largest) + ulp(product_, largest));
        }
        std::fill(squares_.begin(), squares_.end(), 0.0);
        std::fill(response_.begin(), response_.end(), 0.0);
    }

    void addPair(const Pair& pair) {
        if (!on_) {
            return;
        }
        const VkfProblem& p = call_.forward.problem;
        const auto at = static_cast<size_t>(pair.key);
        const double size = std::abs(static_cast<double>(p.scale)) * normOfQ_ * head_->scores().normsOfK[at];
        // Error of the exponent. A bias and ALiBi are at most as large as the score and its product together.
        // Near 0, a kernel's tanh is as exact as its argument.
        const double ofSoftcap = std::min(static_cast<double>(p.softcap), 8 * size);
        const double ofSizes = unit * (2 * size + std::abs(pair.s) + ofSoftcap) + lseError_;
        const double ofScore = pair.p == 0.0 ? 0.0 : meaningful(ofSizes);
        const double lost = pair.p < minNormal ? pair.p : 0.0; // a device may take it for 0
        ofP_ = pair.p * (ofScore + 2 * unit) + lost;
        const double ofDp = unit * pair.kept * normOfDout_ * head_->values().normsOfK[at];
        const double ofDs = pair.p * ofDp + std::abs(pair.ds) * (ofScore + 2 * unit + (lost > 0.0 ? 1.0 : 0.0));
        const double slopeError = p.softcap > 0.0F ? 4 * unit : 0.0;
        const double ofDt = std::abs(pair.factor) * (ofDs + halfUlp(pair.ds)) +
                            std::abs(static_cast<double>(p.scale) * pair.ds) * slopeError;
        const double byDelta = std::abs(pair.factor) * pair.p;
        pair_ = pair;
        ofDtWithDelta_ = ofDt + byDelta * deltaError_;
        if (errors_.dq != nullptr) {
            const float* k = head_->k(pair.key);
            for (size_t d = 0; d < squares_.size(); d++) {
                squares_[d] += square(ofDt * static_cast<double>(k[d]));
                response_[d] += pair.factor * pair.p * static_cast<double>(k[d]);
            }
        }
        if (errors_.dbias != nullptr) {
            errors_.dbias[pair.biasElement] += square(call_.biasFactor(queryHead_) * (ofDs + pair.p * deltaError_));
        }
    }

    // Adds the pair of the last addPair to dk and dv of a key.
    void addToKey(uint64_t keyNumber) {
        if (errors_.dk != nullptr) {
            double* dk = &errors_.dk[keyNumber * squares_.size()];
            for (size_t d = 0; d < squares_.size(); d++) {
                dk[d] += square(ofDtWithDelta_ * q_[d]);
            }
        }
        if (errors_.dv != nullptr) {
            const uint32_t columns = call_.layout(VKF_BACKWARD_DV).dim;
            double* dv = &errors_.dv[keyNumber * columns];
            for (uint32_t d = 0; d < columns; d++) {
                dv[d] += square(pair_.kept * (ofP_ + halfUlp(pair_.p)) * dout_[d]);
            }
        }
    }

    // One delta and one lse serve all keys of a row, so that their errors add up before they are squared.
    void endRow(const double* dq, uint64_t rowNumber) {
        for (size_t d = 0; errors_.dq != nullptr && d < squares_.size(); d++) {
            errors_.dq[rowNumber * squares_.size() + d] +=
                squares_[d] + square(deltaError_ * response_[d]) + square(lseError_ * dq[d]);
        }
    }

    // `sum` is the number of the sum in dsinks. p is the sink's probability.
    void addSink(uint64_t sum, double sink, double p, double delta) const {
        if (errors_.dsinks != nullptr && p != 0.0) {
            const double ofP = p * meaningful(unit * std::abs(sink) + lseError_ + 2 * unit);
            errors_.dsinks[sum] += square(ofP * delta) + square(p * deltaError_);
        }
    }

private:
    static constexpr double unit = 0x1p-23;       // in the last place of fp32, at 1
    static constexpr double minNormal = 0x1p-126; // of fp32

    static double square(double x) { return x * x; }
    // An error of an exponent over 1 says nothing of p, and would hide any wrong gradient. The fp32 runs alone judge
    // such rows.
    static double meaningful(double ofExponent) { return ofExponent <= 1.0 ? ofExponent : 0.0; }
    static double norm(const double* row, size_t count) {
        double sum = 0.0;
        for (size_t d = 0; d < count; d++) {
            sum += square(row[d]);
        }
        return std::sqrt(sum);
    }
    // The most that rounding to the product type changes.
    double halfUlp(double x) const { return product_ == VKF_TYPE_F32 ? 0.0 : ulp(product_, x) / 2; }

    const BackwardCall& call_;
    GradientOutput errors_;
    bool on_;
    VkfType product_;
    const BackwardHead* head_ = nullptr;
    const double* q_ = nullptr; // of the row
    const double* dout_ = nullptr;
    uint32_t queryHead_ = 0;
    double normOfQ_ = 0.0;
    double normOfDout_ = 0.0;
    double lse_ = 0.0;
    double lseError_ = 0.0;
    double deltaError_ = 0.0;
    std::vector<double> squares_;  // of dq of the row, for roundings of single pairs
    std::vector<double> response_; // of dq of the row to an error of delta
    Pair pair_{};
    double ofP_ = 0.0;
    double ofDtWithDelta_ = 0.0;
};

} // namespace vkf::reference
