// SPDX-License-Identifier: MIT
//
// Limits of the numbers that scores are made of. Library and reference share them (docs/semantics.md, "Finite inputs").
//
// Any finite softcap is allowed, and fp32 cannot hold all that follows from it: softcap * log2(e), and the scale over
// the softcap, would be infinite or 0.
#pragma once

#include <algorithm>
#include <cmath>

#include <vkflash/problem.h>

namespace vkf {

// From this softcap on, and below this ratio of scale and softcap, a softcap counts as none.
inline constexpr double largestSoftcap = 0x1p100;
inline constexpr double minCapping = 0x1p-100;
// A smaller softcap counts as this one. It leaves nothing of a score either.
inline constexpr float minSoftcap = 0x1p-100F;
// The size of a ratio of scale and softcap counts as this one at most.
inline constexpr double maxCapping = 0x1p126;

// A slope of ALiBi counts as this one at most, so that its product with any distance is finite.
inline constexpr float largestSlope = 0x1p96F;
// Natural scores below this size have a whole number of log2 as running maximum, if probabilities are rounded. Larger
// ones have too few bits for that.
inline constexpr float largestWholeMaximum = 4096.0F;

// `scale` is the factor of q . k, with its default filled in. 0 = no softcap.
inline float effectiveSoftcap(float softcap, float scale) {
    const auto cap = static_cast<double>(softcap);
    const bool off = cap == 0.0 || cap >= largestSoftcap || std::abs(static_cast<double>(scale)) / cap < minCapping;
    return off ? 0.0F : std::max(softcap, minSoftcap);
}

// The factor of q . k inside tanh.
inline double cappingFactor(float softcap, float scale) {
    return std::clamp(static_cast<double>(scale) / static_cast<double>(softcap), -maxCapping, maxCapping);
}

} // namespace vkf
