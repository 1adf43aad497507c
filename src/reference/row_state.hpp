// SPDX-License-Identifier: MIT
//
// The state of a row of online softmax.
#pragma once

#include <limits>

#include "reference/visible.hpp"

namespace vkf::reference {

// The m of a row that has seen no key, and the score of a key that a row does not see.
template <typename Real> inline constexpr Real minusInfinity = -std::numeric_limits<Real>::infinity();

// The number that scores are measured from, so that no exponential overflows. If all scores are -infinity, any finite
// number gives probabilities of 0.
template <typename Real> Real finiteMaximum(Real m) { return m == minusInfinity<Real> ? Real{0} : m; }

template <typename Real> struct RowState {
    Real m; // running maximum of the scores
    Real l; // running sum of exp(s - m)
    KeyRange visible;
};

} // namespace vkf::reference
