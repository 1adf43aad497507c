// SPDX-License-Identifier: MIT
//
// p and ds of a tile with softcap, ALiBi or both.
#ifndef VKF_WGMMA_BACKWARD_TERMS_HPP
#define VKF_WGMMA_BACKWARD_TERMS_HPP

#include "wgmma/scores.hpp"

namespace vkf::wgmma {

// What a pair of a row and a key needs besides its products.
struct PairState {
    float lse;
    float delta;
    float distance; // from the key to the position of the row
};

// s becomes p, dp becomes ds. `state(i)` is that of the pair of s[i].
template <uint32_t COUNT, typename State>
VKF_DEVICE void finishPairs(float (&s)[COUNT], float (&dp)[COUNT], const Call call, const float slope,
                            const State & state) {
    const bool capped = call.constants.softcap;
    if (capped) {
        capScores(s, call.params.score_scale, call.params.softcap);
    }
    const float scale = capped ? 1.0f : call.params.score_scale;
    const float uncapped = capped ? reciprocal(call.params.softcap) : 0.0f;
    VKF_UNROLL for (uint32_t i = 0; i < COUNT; i++) {
        const PairState pair = state(i);
        const float tanh = s[i] * uncapped; // the derivative of softcap tanh(x / softcap) is 1 - tanh^2
        s[i] = exp2(fma(-slope, magnitude(pair.distance), s[i] * scale) - pair.lse);
        dp[i] = s[i] * (dp[i] - pair.delta) * fma(-tanh, tanh, 1.0f);
    }
}

} // namespace vkf::wgmma

#endif
