// SPDX-License-Identifier: MIT
//
// From q . k to the score: scale and softcap, the terms that are added to the scores of a query row, and the row's
// sink.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <numbers>

#include "reference/call.hpp"
#include "reference/kv_head.hpp"

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

// Makes the score after scale and softcap, in units of log2, from q . k.
template <typename Real> struct FinalScore {
    Real factor;
    Real softcap; // in units of log2; 0 = off

    explicit FinalScore(const VkfProblem& problem) {
        const auto scale = static_cast<double>(problem.scale);
        const auto cap = static_cast<double>(problem.softcap);
        factor = static_cast<Real>(cap > 0.0 ? scale / cap : scale * std::numbers::log2e);
        softcap = static_cast<Real>(cap * std::numbers::log2e);
    }

    Real operator()(Real dot) const { return softcap > 0 ? softcap * std::tanh(dot * factor) : dot * factor; }

    // The derivative of the capped score by the score before softcap.
    Real slope(Real dot) const {
        const Real tanh = std::tanh(dot * factor);
        return softcap > 0 ? 1 - tanh * tanh : 1;
    }
};

// With Real = float, every rounding is that of the kernels. Scores are natural scores times `unit`, which is 1 or
// log2(e).
template <typename Real, bool twoRoundings> class RowTerms {
public:
    RowTerms(const Call& call, double unit) : call_(&call), unit_(unit) {}

    void load(uint32_t batch, uint32_t queryHead, int64_t row, const Mask& mask) {
        position_ = row + mask.keys - mask.rows;
        slope_ = static_cast<Real>(slopeOf(queryHead) * unit_);
        biasUnit_ = has(call_->problem, VKF_ARRAY_BIAS_FACTORS)
                        ? static_cast<Real>(static_cast<double>(call_->inputs.biasFactors[queryHead]) * unit_)
                        : static_cast<Real>(unit_);
        const VkfBroadcastArray& bias = call_->problem.bias;
        biasRow_ = firstElement(bias, batch, queryHead) + static_cast<uint64_t>(row) * bias.rowStride;
    }

    Real add(Real s, int64_t key) const {
        if (slope_ != 0) {
            const auto distance = static_cast<float>(std::abs(position_ - key));
            s = multiplyAdd<Real, twoRoundings>(-static_cast<double>(slope_), distance, s);
        }
        if (has(call_->problem, VKF_ARRAY_BIAS)) {
            const double bias =
                vkfLoadElement(call_->problem.bias.type, call_->inputs.bias, biasRow_ + static_cast<uint64_t>(key));
            // A bias of -infinity drops the key, whatever the factor is.
            const Real unit = bias == -std::numeric_limits<double>::infinity() ? static_cast<Real>(unit_) : biasUnit_;
            s = multiplyAdd<Real, twoRoundings>(unit, static_cast<float>(bias), s);
        }
        return s;
    }

private:
    double slopeOf(uint32_t queryHead) const {
        const VkfProblem& p = call_->problem;
        if (p.alibi == 0) {
            return 0.0;
        }
        return has(p, VKF_ARRAY_ALIBI_SLOPES) ? call_->inputs.alibiSlopes[queryHead]
                                              : usualSlope(p.queryHeads, queryHead);
    }

    const Call* call_;
    double unit_;
    Real slope_ = 0;
    int64_t position_ = 0;
    Real biasUnit_ = 0;    // the row's factor of the bias times unit_
    uint64_t biasRow_ = 0; // element of key 0
};

// m and l of a row with its sink, and the factor that brings sums from the old m to the new m.
template <typename Real> struct EndedRow {
    Real m;
    Real l;
    Real factor;
};

// Adds the sink of a row to m and l. m is a natural score times `unit`, and power(x) is the exponential for such
// scores. The l of a row that sees no key must be 0, whatever its m is.
template <typename Real, typename Power>
EndedRow<Real> withSink(const Call& call, uint32_t queryHead, double unit, Real m, Real l, const Power& power) {
    constexpr Real infinity = std::numeric_limits<Real>::infinity();
    if (!has(call.problem, VKF_ARRAY_SINKS) ||
        call.inputs.sinks[queryHead] == -std::numeric_limits<float>::infinity()) {
        return {m, l, 1};
    }
    const auto sink = static_cast<Real>(static_cast<double>(call.inputs.sinks[queryHead]) * unit);
    if (l == 0 || m == -infinity) {
        // A sink that is +infinity or NaN makes the row NaN, as such a score does.
        return {sink, std::isfinite(sink) ? Real{1} : std::numeric_limits<Real>::quiet_NaN(), 0};
    }
    const Real with = m < sink ? sink : m;
    return {with, l * power(m - with) + power(sink - with), power(m - with)};
}

} // namespace vkf::reference
