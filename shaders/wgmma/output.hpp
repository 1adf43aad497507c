// SPDX-License-Identifier: MIT
//
// Lines 12 to 15: finishes and stores o and lse of a consumer's rows. With key splits, stores a partial result for
// merge/merge_splits.comp: o divided by l in fp32, and m and l in place of lse.
#ifndef VKF_WGMMA_OUTPUT_HPP
#define VKF_WGMMA_OUTPUT_HPP

#include "wgmma/scores.hpp"
#include "wgmma/tile.hpp"

namespace vkf::wgmma {

// Transposes a matrix of 4 x 4 words between the four threads that share rows: x[i] of thread t goes to x[t] of thread
// i.
VKF_DEVICE void transposeAmongFour(uint32_t (&x)[4], const uint32_t lane) {
    const bool odd = (lane & 1) != 0;
    VKF_UNROLL for (uint32_t i = 0; i < 4; i += 2) {
        const uint32_t received = shuffleXor(select(odd, x[i], x[i + 1]), 1);
        x[i] = select(odd, received, x[i]);
        x[i + 1] = select(odd, x[i + 1], received);
    }
    const bool upper = (lane & 2) != 0;
    VKF_UNROLL for (uint32_t i = 0; i < 2; i++) {
        const uint32_t received = shuffleXor(select(upper, x[i], x[i + 2]), 2);
        x[i] = select(upper, received, x[i]);
        x[i + 2] = select(upper, x[i + 2], received);
    }
}

// The end of a row (softmax/finish.glsl).
struct FinishedRow {
    float l;   // what o is divided by; 0 without a visible key
    float lse; // in base e
};

VKF_DEVICE FinishedRow finishRow(const Call call, const Uint head, const float m, const float l) {
    if (call.constants.sinks && call.constants.key_splits == 1) {
        const Address sinks = optionalInput(call, offsetof(CallTable, sinks));
        const float sink = loadGlobal<float>(sinks + Address{head} * 4);
        if (sink != MINUS_INFINITY) {
            const float natural = m * LN2;
            const float largest = l == 0.0f ? sink : maximum(natural, sink);
            const float of_sink = exp2((sink - largest) * LOG2E);
            const float of_keys = l == 0.0f ? 0.0f : l * exp2((natural - largest) * LOG2E);
            const bool infinite = sink == -MINUS_INFINITY; // makes the row NaN, as such a score does
            const float with_sink = l + (infinite ? asFloat(0x7fc00000u) : exp2((sink - natural) * LOG2E));
            return {l == 0.0f ? 0.0f : with_sink, largest + log2(of_keys + of_sink) * LN2};
        }
    }
    return {l, l == 0.0f ? MINUS_INFINITY : (m + log2(l)) * LN2};
}

// The address of a packed row of o.
VKF_DEVICE Address outputRow(const Call call, const Item& item, const Uint packed_row) {
    const Address head = headAddress(call, call.params.o, VKF_O, item.partial_result,
                                     item.head + headOfRow(call, packed_row), item.first_row);
    return head + Address{queryRow(call, packed_row)} * call.params.row_stride[VKF_O];
}

VKF_DEVICE void storeLse(const Call call, const Item& item, const Uint packed_row, const float m, const float l,
                         const float lse) {
    const Address number = rowNumber(call, item, item.head + headOfRow(call, packed_row), queryRow(call, packed_row));
    if (call.constants.key_splits > 1) {
        storeGlobal<float>(call.params.lse + number * 8, m);
        storeGlobal<float>(call.params.lse + number * 8 + 4, l);
    } else {
        storeGlobal<float>(call.params.lse + number * 4, lse);
    }
}

// Clamps finite elements past the largest number of the type to it. Infinity and NaN stay.
template <uint32_t COUNT> VKF_DEVICE void clampFinite(float (&o)[COUNT], const float largest) {
    float reached = 0.0f;
    VKF_UNROLL for (uint32_t i = 0; i < COUNT; i++) { reached = maximum(reached, magnitude(o[i])); }
    if (anyLane(reached > largest)) {
        VKF_UNROLL for (uint32_t i = 0; i < COUNT; i++) {
            const float clamped = -maximum(-maximum(o[i], -largest), -largest);
            o[i] = magnitude(o[i]) <= 3.402823466e38f ? clamped : o[i];
        }
    }
}

// Line 12 for 16-bit o: rows as words of two numbers; word 2 c + h has columns 8 c + 2 (lane % 4) and the next of row
// h.
template <bool BF16, uint32_t COUNT> VKF_DEVICE void packRows(const float (&o)[COUNT], uint32_t (&words)[COUNT / 2]) {
    VKF_UNROLL for (uint32_t i = 0; i < COUNT / 2; i++) { words[i] = packHalves<BF16>(o[2 * i], o[2 * i + 1]); }
}

// Stores row h, which has `alignment` as the low bits of its addresses. Its four threads have two columns of each
// eight. With whole words each of them stores all eight columns of every fourth eight.
template <typename K>
VKF_DEVICE void storeHalves(const uint32_t (&words)[K::DIM / 4], const uint32_t h, const Address row, const bool exists,
                            const Uint columns, const Uint alignment, const uint32_t lane) {
    const bool whole_words = (alignment & 15) == 0;
    const bool pairs = (alignment & 3) == 0;
    VKF_UNROLL for (uint32_t first = 0; first < K::DIM / 8; first += 4) {
        Word word;
        VKF_UNROLL for (uint32_t i = 0; i < 4; i++) { word.x[i] = words[2 * (first + i) + h]; }
        if (whole_words) {
            transposeAmongFour(word.x, lane);
            const uint32_t column = 8 * (first + lane % 4);
            if (exists && column < columns) {
                storeWord(row + column * 2, word);
            }
        } else {
            VKF_UNROLL for (uint32_t i = 0; i < 4; i++) {
                const uint32_t column = 8 * (first + i) + 2 * (lane % 4);
                if (exists && column < columns) {
                    storeHalfPair(row + column * 2, word.x[i], pairs);
                }
            }
        }
    }
}

template <typename K>
VKF_DEVICE void storeFloats(const float (&o)[K::DIM / 2], const uint32_t h, const Address row, const bool exists,
                            const Uint columns, const uint32_t lane) {
    const bool pairs = (row & 7) == 0;
    VKF_UNROLL for (uint32_t j = 0; j < K::DIM / 8; j++) {
        const uint32_t column = 8 * j + 2 * (lane % 4);
        if (exists && column < columns) {
            storePair(row + column * 4, o[4 * j + 2 * h], o[4 * j + 2 * h + 1], pairs);
        }
    }
}

// Adds the special values that became zeros (producer.hpp) to the stored rows of this warp. They add infinity or NaN,
// whatever their probability. This is rare, so the code is short instead of fast.
template <typename K>
VKF_DEVICE void addSpecialValues(const Call call, const Item& item, const Uint first_row, const uint32_t lane) {
    constexpr uint32_t special = K::BF16 ? 0x7f80u : 0x7c00u;
    syncWarp();
    const Address v = keyHeadAddress(call, call.params.v, VKF_V, item);
    const Address table = hasPages(call) ? tableOf(call, item) : 0;
    const Uint type_o = call.constants.type_o;
    const Uint end = min(first_row + 16, packedRows(call, item));
    VKF_KEEP_LOOP for (Uint packed_row = first_row; packed_row < end; packed_row++) {
        const VisibleKeys visible = visibleKeys(call, item, queryRow(call, packed_row));
        const Int begin = visible.first > 0 ? 0 : visible.window.begin;
        const Int keys_end = max(visible.first, visible.window.end);
        VKF_KEEP_LOOP for (Uint column = lane; column < call.constants.value_dim; column += 32) {
            float sum = 0.0f;
            VKF_KEEP_LOOP for (Int key = begin; key < keys_end; key++) {
                Address row = v;
                bool present = true;
                if (hasPages(call)) {
                    const KeyPlace place = placeOf(call, table, static_cast<Uint>(key));
                    row += Address{wordsTo(call, VKF_V, place)} * 16;
                    present = isPage(call, place.entry);
                } else {
                    row += Address{static_cast<Uint>(key)} * call.params.row_stride[VKF_V];
                }
                const uint32_t bits = loadGlobal<uint16_t>(row + column * 2);
                if (present && isVisible(visible, key) && (bits & special) == special) {
                    sum += unpackHalf<K::BF16>(bits);
                }
            }
            if (sum == 0.0f) {
                continue;
            }
            // Infinity or NaN plus o is exact in every type.
            const Address to = outputRow(call, item, packed_row);
            if (type_o == VKF_STORED_F32) {
                storeGlobal<float>(to + column * 4, loadGlobal<float>(to + column * 4) + sum);
            } else if (type_o == VKF_STORED_BF16) {
                const float o = unpackHalf<true>(loadGlobal<uint16_t>(to + column * 2));
                storeGlobal<uint16_t>(to + column * 2, static_cast<uint16_t>(packHalves<true>(o + sum, 0.0f)));
            } else {
                const float o = unpackHalf<false>(loadGlobal<uint16_t>(to + column * 2));
                storeGlobal<uint16_t>(to + column * 2, static_cast<uint16_t>(packHalves<false>(o + sum, 0.0f)));
            }
        }
    }
}

// Lines 12 to 15.
template <typename K>
VKF_DEVICE void writeResults(const Call call, const Item& item, const LaneRows& rows, RowStates& states,
                             float (&o)[K::DIM / 2]) {
    const uint32_t lane = rows.lane;
    const Uint packed_rows = packedRows(call, item);
    VKF_UNROLL for (uint32_t h = 0; h < LANE_ROWS; h++) {
        const Uint packed_row = rows.packed_row[h];
        const float l = sumOfRow(states.l[h]);
        const Uint head = item.head + headOfRow(call, min(packed_row, packed_rows - 1));
        const FinishedRow finished = finishRow(call, head, states.m[h], l);
        if (call.constants.lse && lane % 4 == 0 && packed_row < packed_rows) {
            storeLse(call, item, packed_row, states.m[h], l, finished.lse);
        }
        const float factor = finished.l == 0.0f ? 0.0f : 1.0f / finished.l; // 12
        VKF_UNROLL for (uint32_t i = 0; i < K::DIM / 2; i++) {
            if (rowOf(i) == h) {
                o[i] *= factor;
            }
        }
    }
    const Uint columns = call.constants.value_dim;
    const Uint type_o = call.constants.type_o;
    uint32_t words[K::DIM / 4];
    if (type_o == VKF_STORED_BF16) {
        clampFinite(o, asFloat(0x7f7f0000u));
        packRows<true>(o, words);
    } else if (type_o == VKF_STORED_F16) {
        clampFinite(o, 65504.0f);
        packRows<false>(o, words);
    }
    // A low bit that is 0 here is 0 in the address of every row.
    const Uint alignment = static_cast<Uint>(call.params.o) | call.params.row_stride[VKF_O] |
                           call.params.head_stride[VKF_O] << call.constants.stride_shift |
                           call.params.batch_stride[VKF_O] << call.constants.stride_shift;
    VKF_UNROLL for (uint32_t h = 0; h < LANE_ROWS; h++) {
        const Uint packed_row = rows.packed_row[h];
        const bool exists = packed_row < packed_rows;
        const Address row = outputRow(call, item, packed_row);
        if (type_o == VKF_STORED_F32) {
            storeFloats<K>(o, h, row, exists, columns, lane);
        } else {
            storeHalves<K>(words, h, row, exists, columns, alignment, lane);
        }
    }
}

} // namespace vkf::wgmma

#endif
