// SPDX-License-Identifier: MIT
//
// From q . k to the score after scale and softcap, in units of log2.
#pragma once

#include <cmath>
#include <numbers>

#include <vkflash/problem.h>

namespace vkf::reference {

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

} // namespace vkf::reference
