// SPDX-License-Identifier: MIT
//
// From q . k to the score: scale and softcap, the terms that are added to the scores of a query row, and the row's
// sink.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <numbers>

#include "problem/functions.hpp"
#include "problem/score_limits.hpp"
#include "reference/call.hpp"
#include "reference/kv_head.hpp"
#include "reference/row_state.hpp"

namespace vkf::reference {

// The usual slope of head h of `heads` (Press et al. 2021, arXiv 2108.12409, and its code for other numbers than powers
// of two): n is the largest power of two up to `heads`.
inline double usualSlope(uint32_t heads, uint32_t head) {
    uint32_t n = 1;
    while (2 * uint64_t{n} <= heads) {
        n *= 2;
    }
    const double exponent = head < n ? 8.0 * (head + 1.0) : 4.0 * (2.0 * (head - n) + 1.0);
    return std::exp2(-exponent / n);
}

// The unit of scores in the kernels (shaders/scores/units.glsl): log2, but natural units with a bias, which may be too
// large for a change of units, and with a score function of the caller's own.
template <typename Real> class ScoreUnit {
public:
    explicit ScoreUnit(bool natural) : natural_(natural) {}
    explicit ScoreUnit(const VkfProblem& problem) : ScoreUnit(hasNaturalScores(problem)) {}

    // The factor that turns a natural number into a score.
    double factor() const { return natural_ ? 1.0 : std::numbers::log2e; }
    // exp of a difference of scores.
    Real power(Real x) const { return std::exp2(natural_ ? x * std::numbers::log2e_v<Real> : x); }
    Real toNatural(Real x) const { return natural_ ? x : x * std::numbers::ln2_v<Real>; }
    // m + log l in natural units.
    Real lse(Real m, Real l) const {
        if (l == 0) {
            return minusInfinity<Real>;
        }
        return natural_ ? m + std::log(l) : (m + std::log2(l)) * std::numbers::ln2_v<Real>;
    }
    // A finite number stays finite.
    Real fromNatural(Real x) const {
        constexpr Real largest = std::numeric_limits<Real>::max();
        return natural_ || !std::isfinite(x) ? x : std::clamp(x * std::numbers::log2e_v<Real>, -largest, largest);
    }
    // A running maximum for rounded probabilities: the next whole number in units of log2, where it has the bits.
    Real whole(Real m) const {
        if (!natural_) {
            return std::ceil(m);
        }
        return std::abs(m) < static_cast<Real>(largestWholeMaximum)
                   ? std::ceil(m * std::numbers::log2e_v<Real>) * std::numbers::ln2_v<Real>
                   : m;
    }

private:
    bool natural_;
};

// Makes the score after scale and softcap from q . k, in natural units times `unit`.
template <typename Real> struct FinalScore {
    Real factor;
    Real softcap; // 0 = off

    FinalScore(const VkfProblem& problem, double unit) {
        const auto scale = static_cast<double>(problem.scale);
        const auto cap = static_cast<double>(problem.softcap);
        factor = static_cast<Real>(cap > 0.0 ? cappingFactor(problem.softcap, problem.scale) : scale * unit);
        softcap = static_cast<Real>(cap * unit);
    }

    Real operator()(Real dot) const { return softcap > 0 ? softcap * std::tanh(dot * factor) : dot * factor; }

    // The derivative of the capped score by the score before softcap.
    Real slope(Real dot) const {
        const Real tanh = std::tanh(dot * factor);
        return softcap > 0 ? 1 - tanh * tanh : 1;
    }
};

// The score function of the caller's own for one query row, in fp64. Without one it changes nothing.
class RowFunction {
public:
    explicit RowFunction(const Call& call)
        : call_(&call), functions_(hasFunction(call.problem, VKF_FUNCTION_SCORE) ? call.inputs.functions : nullptr) {}

    void load(uint32_t batch, uint32_t queryHead, int64_t row, const Mask& mask) {
        at_ = call_->positionOf(batch, queryHead, mask);
        at_.row = static_cast<int32_t>(row + mask.offset);
    }
    double score(double s, int64_t key) const {
        const VkfPosition at = pairAt(key);
        return functions_ != nullptr ? functions_->score(s, &at, functions_->user) : s;
    }
    // The derivative of score by s; a difference where the caller gives no derivative.
    double derivative(double s, int64_t key) const {
        if (functions_ == nullptr) {
            return 1.0;
        }
        const VkfPosition at = pairAt(key);
        if (functions_->scoreDerivative != nullptr) {
            return functions_->scoreDerivative(s, &at, functions_->user);
        }
        const double step = 0x1p-20 * std::max(std::abs(s), 1.0);
        return (score(s + step, key) - score(s - step, key)) / (2 * step);
    }

private:
    VkfPosition pairAt(int64_t key) const {
        VkfPosition at = at_;
        at.key = static_cast<int32_t>(key);
        return at;
    }

    const Call* call_;
    const VkfReferenceFunctions* functions_;
    VkfPosition at_{};
};

// With Real = float, every rounding is that of the kernels. Scores are natural scores times `unit`, which is 1 or
// log2(e). A product with the bias, or a score, that is past the largest fp32 number becomes infinite in fp64 too: the
// contract says so.
template <typename Real, bool twoRoundings> class RowTerms {
public:
    RowTerms(const Call& call, double unit) : call_(&call), function_(call), unit_(unit) {}

    void load(uint32_t batch, uint32_t queryHead, int64_t row, const Mask& mask) {
        position_ = has(call_->problem, VKF_USE_POSITIONS) ? mask.rowPosition(row) : row + mask.keys - mask.rows;
        keyStride_ = mask.keyStride;
        function_.load(batch, queryHead, row, mask);
        slope_ = static_cast<Real>(slopeOf(queryHead) * unit_);
        biasUnit_ = has(call_->problem, VKF_USE_BIAS_FACTORS)
                        ? static_cast<Real>(static_cast<double>(call_->inputs.biasFactors[queryHead]) * unit_)
                        : static_cast<Real>(unit_);
        const VkfBroadcastArray& bias = call_->problem.bias;
        biasRow_ = firstElement(bias, batch, queryHead) + static_cast<uint64_t>(row) * bias.rowStride;
    }

    // The derivative of the caller's score function at s.
    Real derivative(Real s, int64_t key) const {
        return static_cast<Real>(function_.derivative(static_cast<double>(s) / unit_, key));
    }

    Real add(Real s, int64_t key) const {
        s = static_cast<Real>(function_.score(static_cast<double>(s) / unit_, key) * unit_);
        if (slope_ != 0) {
            const auto distance = static_cast<float>(std::abs(position_ - key * keyStride_));
            s = multiplyAdd<Real, twoRoundings>(-static_cast<double>(slope_), distance, s);
        }
        if (has(call_->problem, VKF_USE_BIAS)) {
            const double bias =
                vkfLoadElement(call_->problem.bias.type, call_->inputs.bias, biasRow_ + static_cast<uint64_t>(key));
            // A bias of -infinity drops the key, whatever the factor is.
            const Real unit = bias == minusInfinity<double> ? static_cast<Real>(unit_) : biasUnit_;
            s += static_cast<Real>(static_cast<float>(static_cast<double>(unit) * bias)); // the fp32 product
        }
        const auto stored = static_cast<float>(s);
        return std::isinf(stored) ? static_cast<Real>(stored) : s;
    }

private:
    double slopeOf(uint32_t queryHead) const {
        const VkfProblem& p = call_->problem;
        if (!has(p, VKF_USE_ALIBI)) {
            return 0.0;
        }
        // A NaN stays one.
        return has(p, VKF_USE_ALIBI_SLOPES)
                   ? std::clamp(call_->inputs.alibiSlopes[queryHead], -largestSlope, largestSlope)
                   : usualSlope(p.queryHeads, queryHead);
    }

    const Call* call_;
    RowFunction function_;
    double unit_;
    Real slope_ = 0;
    int64_t position_ = 0;
    int64_t keyStride_ = 1;
    Real biasUnit_ = 0;    // the row's factor of the bias times unit_
    uint64_t biasRow_ = 0; // element of key 0
};

// The end of a row.
template <typename Real> struct FinishedRow {
    Real l;   // what o is divided by: the sum with the sink, counted from the m of the row; 0 without a visible key
    Real lse; // natural
};

// Finishes a row with its sink, from its m and l over all keys, as finishRow of shaders/softmax/finish.glsl does. A row
// that sees no key has l = 0, whatever its m is.
template <typename Real>
FinishedRow<Real> finishRow(const Call& call, const ScoreUnit<Real>& unit, uint32_t queryHead, Real m, Real l) {
    constexpr Real infinity = std::numeric_limits<Real>::infinity();
    const Real sink = has(call.problem, VKF_USE_SINKS) ? static_cast<Real>(call.inputs.sinks[queryHead]) : -infinity;
    if (sink == -infinity) {
        return {l, unit.lse(m, l)};
    }
    if (!std::isfinite(sink)) { // makes the row NaN, as such a score does
        const Real nan = std::numeric_limits<Real>::quiet_NaN();
        return {l == 0 ? 0 : nan, nan};
    }
    if (l == 0) {
        return {0, sink};
    }
    const Real natural = unit.toNatural(m);
    const Real largest = std::max(natural, sink);
    return {l + std::exp(sink - natural),
            largest + std::log(l * std::exp(natural - largest) + std::exp(sink - largest))};
}

} // namespace vkf::reference
