// SPDX-License-Identifier: MIT
//
// A consumer: a warpgroup that owns 64 packed rows of the workgroup, with all their keys and all columns of o. It holds
// in registers:
//
//     q      left operands, 64 x D
//     s      the scores of a tile, 64 x KEYS
//     p      their probabilities, left operands
//     o      64 x D
//     m, l   of the two rows of which a thread has elements (instructions.hpp, "Result")
#ifndef VKF_WGMMA_CONSUMER_HPP
#define VKF_WGMMA_CONSUMER_HPP

#include "wgmma/output.hpp"
#include "wgmma/producer.hpp"

namespace vkf::wgmma {

template <typename K> struct Consumer {
    const Call call;
    const Item item;
    const Walk walk;
    const uint32_t shared_memory;
    const uint32_t number; // which consumer of the workgroup
    const uint32_t warp;   // of the warpgroup
    const uint32_t lane;
    const float scale; // of q . k

    LaneRows rows;
    VisibleKeys any; // keys that some row of the warpgroup may see
    RowStates states;
    uint32_t slot = 0;
    uint32_t q[K::DIM / 4];
    float s[K::KEYS / 2];
    uint32_t p[K::KEYS / 4];
    float o[K::DIM / 2];

    VKF_DEVICE void setRows() {
        const Uint first = item.row_begin + number * 64;
        const Uint last_row = packedRows(call, item) - 1;
        VKF_UNROLL for (uint32_t h = 0; h < LANE_ROWS; h++) {
            const Uint packed_row = first + warp * 16 + lane / 4 + 8 * h;
            const Uint row = queryRow(call, min(packed_row, last_row));
            rows.packed_row[h] = packed_row;
            rows.visible[h] = visibleKeys(call, item, row);
            if constexpr (K::TERMS) {
                rows.slope[h] = slopeOf(call, item.head + headOfRow(call, packed_row));
                rows.position[h] = static_cast<Int>(row + item.keys) - static_cast<Int>(item.rows);
            }
        }
        any = keysOfAny(visibleKeys(call, item, queryRow(call, min(first, last_row))),
                        visibleKeys(call, item, queryRow(call, min(first + 63, last_row))));
    }

    // Line 4. The four threads of a row load every fourth word of it each, and hand the pieces around. A row past the
    // last one repeats it, because nobody stores its results.
    VKF_DEVICE void loadQueries() {
        const Uint last_row = packedRows(call, item) - 1;
        const uint32_t sign = call.params.score_scale < 0.0f ? 0x80008000u : 0; // scores need a positive scale
        VKF_UNROLL for (uint32_t h = 0; h < LANE_ROWS; h++) {
            const Uint packed_row = min(rows.packed_row[h], last_row);
            const Address head = headAddress(call, call.params.q, VKF_Q, item.batch,
                                             item.head + headOfRow(call, packed_row), item.first_row);
            const Address row = head + Address{queryRow(call, packed_row)} * call.params.row_stride[VKF_Q];
            VKF_UNROLL for (uint32_t first = 0; first < K::DIM / 8; first += 4) {
                const uint32_t column = 8 * (first + lane % 4);
                Word word = loadWordIf(column < call.constants.head_dim, row + column * 2);
                transposeAmongFour(word.x, lane);
                VKF_UNROLL for (uint32_t i = 0; i < 4; i++) {
                    q[2 * (first + i) + h] = word.x[i] ^ sign;
                }
            }
        }
    }

    VKF_DEVICE uint32_t waitForTile() const {
        waitAt(K::full(slot, number), K::FULL_THREADS);
        return shared_memory + slot * K::SLOT_BYTES;
    }

    // Fills that nobody will replace are not released, because the producer does not wait for them.
    VKF_DEVICE void release(const uint32_t fill) {
        if (fill + K::SLOTS < 2 * (walk.step_end - walk.step)) {
            arriveAt(K::empty(slot), K::EMPTY_THREADS);
        }
        slot = nextSlot<K>(slot);
    }

    // Line 8: starts s = q k^T.
    VKF_DEVICE void startScores(const uint32_t tile) {
        beginProducts();
        multiply<K::BF16, false, false>(s, q, rightOperand(tile, 16));
        VKF_UNROLL for (uint32_t i = 1; i < K::DIM / 16; i++) {
            multiply<K::BF16, false, true>(s, q + 4 * i, rightOperand(tile + i / 4 * K::PANEL_BYTES + i % 4 * 32, 16));
        }
        endProductGroup();
    }

    // Line 10: starts o += p v.
    VKF_DEVICE void startOutput(const uint32_t tile) {
        beginProducts();
        VKF_UNROLL for (uint32_t i = 0; i < K::KEYS / 16; i++) {
            multiply<K::BF16, true, true>(o, p + 4 * i, rightOperand(tile + i * 2048, K::PANEL_BYTES));
        }
        endProductGroup();
    }

    // Lines 8 and 9, from the products to probabilities.
    template <bool PARTIAL> VKF_DEVICE void makeProbabilitiesOf(const Uint step) {
        // Without terms the scale is deferred to the exponent.
        const float deferred = K::TERMS ? 1.0f : scale;
        if constexpr (K::TERMS || PARTIAL) {
            const Int first_key = static_cast<Int>(tileAt(walk, step) * K::KEYS + 2 * (lane % 4));
            if constexpr (K::TERMS) {
                addTerms(s, call, rows, first_key, scale);
            }
            if constexpr (PARTIAL) {
                dropInvisible(s, rows, first_key);
            }
        }
        raiseMaximum(s, deferred, states, o);
        makeProbabilities<K::BF16, PARTIAL ? 0 : VKF_POLYNOMIALS>(s, deferred, states, p);
    }

    // Whether no row of the warpgroup sees a key of the tile.
    VKF_DEVICE bool isEmptyTile(const Uint step) const {
        const Int begin = static_cast<Int>(tileAt(walk, step) * K::KEYS);
        return isEmpty(any, begin, begin + static_cast<Int>(K::KEYS));
    }

    // Lines 6 to 11 for the tiles at positions [step, end) of the walk. All are full, or all may be partial.
    template <bool PARTIAL> VKF_DEVICE void attend(Uint step, const Uint end) {
        VKF_KEEP_LOOP for (; step < end; step++) {
            const uint32_t fill = 2 * (step - walk.step);
            if (PARTIAL && isEmptyTile(step)) {
                passTile(fill);
                continue;
            }
            startScores(waitForTile());
            waitForProducts<0>();
            release(fill);
            makeProbabilitiesOf<PARTIAL>(step);
            startOutput(waitForTile());
            waitForProducts<0>();
            release(fill + 1);
        }
    }

    // The same for full tiles. The scores of the next tile start right after the product p v of this tile.
    VKF_DEVICE void attendInChains(Uint step, const Uint end) {
        if (step >= end) {
            return;
        }
        startScores(waitForTile());
        waitForProducts<0>();
        release(2 * (step - walk.step));
        VKF_KEEP_LOOP for (; step + 1 < end; step++) {
            const uint32_t fill = 2 * (step - walk.step);
            makeProbabilitiesOf<false>(step);
            startOutput(waitForTile());
            const uint32_t v_slot = slot;
            slot = nextSlot<K>(slot);
            startScores(waitForTile());
            waitForProducts<1>();
            const uint32_t k_slot = slot;
            slot = v_slot;
            release(fill + 1);
            waitForProducts<0>();
            slot = k_slot;
            release(fill + 2);
        }
        makeProbabilitiesOf<false>(step);
        startOutput(waitForTile());
        waitForProducts<0>();
        release(2 * (step - walk.step) + 1);
    }

    // Takes k and v of a tile without a product.
    VKF_DEVICE void passTile(const uint32_t fill) {
        waitForTile();
        release(fill);
        waitForTile();
        release(fill + 1);
    }

    // Lines 4 to 15.
    VKF_DEVICE void run() {
        const Uint full_end = clamp(fullTiles(walk), walk.step, walk.step_end);
        if (item.row_begin + number * 64 >= packedRows(call, item)) { // the last tile of rows has none for this warpgroup
            VKF_KEEP_LOOP for (Uint step = walk.step; step < walk.step_end; step++) {
                passTile(2 * (step - walk.step));
            }
            if (hasPartialTiles(walk)) {
                anyAt(K::flag(number), K::FLAG_THREADS, false);
            }
            return;
        }
        setRows();
        loadQueries(); // 4
        VKF_UNROLL for (uint32_t i = 0; i < K::DIM / 2; i++) { // 5
            o[i] = 0.0f;
        }
        if constexpr (VKF_CHAINS_PRODUCTS) { // 6 to 11
            attendInChains(walk.step, full_end);
        } else {
            attend<false>(walk.step, full_end);
        }
        attend<true>(full_end, walk.step_end);
        writeResults<K>(call, item, rows, states, o, lane); // 12 to 15
        if (hasPartialTiles(walk) && anyAt(K::flag(number), K::FLAG_THREADS, false)) {
            addSpecialValues<K>(call, item, item.row_begin + number * 64 + warp * 16, lane);
        }
    }
};

} // namespace vkf::wgmma

#endif
