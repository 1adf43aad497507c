// SPDX-License-Identifier: MIT
//
// What the consumers of both kernels share: owned left operands, products with tiles, p and ds with score terms, and
// the stores of sums.
#ifndef VKF_WGMMA_BACKWARD_OPERANDS_HPP
#define VKF_WGMMA_BACKWARD_OPERANDS_HPP

#include "wgmma/output.hpp"
#include "wgmma_backward/item.hpp"
#include "wgmma_backward/tile.hpp"

namespace vkf::wgmma {

// Rows or keys of a tensor: `count` of them exist.
struct OwnedRows {
    Address address; // of row or key 0
    Uint row_stride;
    Uint count;
    Uint columns;
};

// Loads rows first + 0 to 63 of a warpgroup as left operands. Rows and columns past the last one are zeros. The four
// threads of a row load every fourth word of it each, and hand the pieces around.
template <typename K>
VKF_DEVICE void loadLeftOperand(const OwnedRows & from, const Uint first, uint32_t (&a)[K::DIM / 4]) {
    const uint32_t thread = threadNumber() % WARPGROUP;
    const uint32_t lane = thread % 32;
    VKF_UNROLL for (uint32_t h = 0; h < LANE_ROWS; h++) {
        const Uint row = first + thread / 32 * 16 + lane / 4 + 8 * h;
        const Address address = from.address + Address{row} * from.row_stride;
        VKF_UNROLL for (uint32_t word_number = 0; word_number < K::DIM / 8; word_number += 4) {
            const uint32_t column = 8 * (word_number + lane % 4);
            Word word = loadWordIf(row < from.count && column < from.columns, address + column * 2);
            transposeAmongFour(word.x, lane);
            VKF_UNROLL for (uint32_t i = 0; i < 4; i++) {
                a[2 * (word_number + i) + h] = word.x[i];
            }
        }
    }
}

// Starts d = a tile^T: the depth runs along the lines of the tile. OPERANDS: the left operands, each of depth 16.
template <typename K, uint32_t OPERANDS = K::DIM / 16>
VKF_DEVICE void multiplyRows(float (&d)[K::KEYS / 2], const uint32_t * a, const uint32_t tile) {
    multiply<K::BF16, false, false>(d, a, rightOperand(tile, 16));
    VKF_UNROLL for (uint32_t i = 1; i < OPERANDS; i++) {
        multiply<K::BF16, false, true>(d, a + 4 * i, rightOperand(tile + i / 4 * K::PANEL_BYTES + i % 4 * 32, 16));
    }
}

// Starts d += a tile: the depth runs from line to line.
template <typename K> VKF_DEVICE void addColumns(float (&d)[K::DIM / 2], const uint32_t * a, const uint32_t tile) {
    VKF_UNROLL for (uint32_t i = 0; i < K::KEYS / 16; i++) {
        multiply<K::BF16, true, true>(d, a + 4 * i, rightOperand(tile + i * 2048, K::PANEL_BYTES));
    }
}

// Rounds results to left operands of products whose depth they have as columns.
template <bool BF16, uint32_t COUNT> VKF_DEVICE void packOperand(const float (&d)[COUNT], uint32_t (&a)[COUNT / 2]) {
    VKF_UNROLL for (uint32_t i = 0; i < COUNT; i += 2) {
        a[i / 2] = packHalves<BF16>(d[i], d[i + 1]);
    }
}

// A gradient of a head, from row or key 0 of the sequence on.
struct GradientRows {
    Address address;
    Address row_stride;
    Uint columns;
    Uint type;
};

VKF_DEVICE GradientRows gradientRows(const Call call, const size_t tensor, const Item & item, const Uint head,
                                     const Uint first, const Uint columns, const Uint type) {
    const Address base = tableMember<Address>(call, tensor + offsetof(BackwardTensor, address));
    const Address batch = tableMember<Address>(call, tensor + offsetof(BackwardTensor, batch_stride));
    const Address heads = tableMember<Address>(call, tensor + offsetof(BackwardTensor, head_stride));
    const Address rows = tableMember<Address>(call, tensor + offsetof(BackwardTensor, row_stride));
    return {base == 0 ? 0 : base + item.partial_result * batch + head * heads + first * rows, rows, columns, type};
}

// Asks for the kernels that compute all gradients again (planning/backward): infinity or NaN came out. Where a masked
// row or key has such values, or a ds exceeded the largest fp16, those kernels know better.
VKF_DEVICE void askForFallback(const Call call) {
    storeGlobal<Uint>(optionalInputs(call) + offsetof(BackwardTable, wants_fallback), 1);
}

// Stores the sums of a warpgroup's rows or keys first + 0 to 63. A row or key that does not give gets zeros. From
// `stored` on none exists.
template <typename K>
VKF_DEVICE void storeSums(const Call call, const GradientRows & to, float (&sum)[K::DIM / 2], const float factor,
                          const Uint first, const bool (&gives)[LANE_ROWS], const Uint stored) {
    const uint32_t thread = threadNumber() % WARPGROUP;
    const uint32_t lane = thread % 32;
    float zero = 0.0f; // becomes NaN
    VKF_UNROLL for (uint32_t i = 0; i < K::DIM / 2; i++) {
        sum[i] = select(gives[rowOf(i)], sum[i] * factor, 0.0f);
        zero = fma(sum[i], 0.0f, zero);
    }
    if (anyLane(zero != 0.0f)) {
        askForFallback(call);
    }
    if (to.address == 0) {
        return;
    }
    uint32_t words[K::DIM / 4];
    if (to.type == VKF_STORED_BF16) {
        clampFinite(sum, asFloat(0x7f7f0000u));
        packRows<true>(sum, words);
    } else if (to.type == VKF_STORED_F16) {
        clampFinite(sum, 65504.0f);
        packRows<false>(sum, words);
    }
    const Uint alignment = static_cast<Uint>(to.address) | static_cast<Uint>(to.row_stride);
    VKF_UNROLL for (uint32_t h = 0; h < LANE_ROWS; h++) {
        const Uint row = first + thread / 32 * 16 + lane / 4 + 8 * h;
        const Address address = to.address + row * to.row_stride;
        if (to.type == VKF_STORED_F32) {
            storeFloats<K>(sum, h, address, row < stored, to.columns, lane);
        } else {
            storeHalves<K>(words, h, address, row < stored, to.columns, alignment, lane);
        }
    }
}

// p and ds of a tile with softcap, ALiBi or both.

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
