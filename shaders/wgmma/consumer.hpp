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
    const float scale;     // of q . k

    RowStates states;
    uint32_t slot = 0;
    uint32_t q[K::DIM / 4];
    float s[K::KEYS / 2];
    uint32_t p[K::KEYS / 4];
    float o[K::DIM / 2];

    // The rows of this thread. Each phase makes them anew, because registers are short in the loops.
    VKF_DEVICE LaneRows laneRows() const {
        const Uint first = item.row_begin + number * 64;
        const Uint last_row = packedRows(call, item) - 1;
        const uint32_t thread = threadNumber() % WARPGROUP;
        LaneRows rows;
        rows.lane = thread % 32;
        VKF_UNROLL for (uint32_t h = 0; h < LANE_ROWS; h++) {
            const Uint packed_row = first + thread / 32 * 16 + rows.lane / 4 + 8 * h;
            const Uint row = queryRow(call, min(packed_row, last_row));
            rows.packed_row[h] = packed_row;
            rows.visible[h] = visibleKeys(call, item, row);
            if constexpr (K::SOFTCAP_OR_ALIBI) {
                rows.slope[h] = slopeOf(call, item.head + headOfRow(call, packed_row));
                rows.position[h] = static_cast<Int>(row + item.keys) - static_cast<Int>(item.rows);
            }
        }
        return rows;
    }

    // Keys that some row of the warpgroup may see.
    VKF_DEVICE VisibleKeys keysOfWarpgroup() const {
        const Uint first = item.row_begin + number * 64;
        const Uint last_row = packedRows(call, item) - 1;
        return keysOfAny(visibleKeys(call, item, queryRow(call, min(first, last_row))),
                         visibleKeys(call, item, queryRow(call, min(first + 63, last_row))));
    }

    // Line 4. The four threads of a row load every fourth word of it each, and hand the pieces around. A row past the
    // last one repeats it, because nobody stores its results.
    VKF_DEVICE void loadQueries() {
        const LaneRows rows = laneRows();
        const Uint last_row = packedRows(call, item) - 1;
        const uint32_t sign = call.params.score_scale < 0.0f ? 0x80008000u : 0; // scores need a positive scale
        VKF_UNROLL for (uint32_t h = 0; h < LANE_ROWS; h++) {
            const Uint packed_row = min(rows.packed_row[h], last_row);
            const Address head = headAddress(call, call.params.q, VKF_Q, item.batch,
                                             item.head + headOfRow(call, packed_row), item.first_row);
            const Address row = head + Address{queryRow(call, packed_row)} * call.params.row_stride[VKF_Q];
            VKF_UNROLL for (uint32_t first = 0; first < K::DIM / 8; first += 4) {
                const uint32_t column = 8 * (first + rows.lane % 4);
                Word word = loadWordIf(column < call.constants.head_dim, row + column * 2);
                transposeAmongFour(word.x, rows.lane);
                VKF_UNROLL for (uint32_t i = 0; i < 4; i++) { q[2 * (first + i) + h] = word.x[i] ^ sign; }
            }
        }
    }

    VKF_DEVICE uint32_t waitForTile() const {
        waitAt(K::full(slot, number), K::FULL_THREADS);
        return shared_memory + slot * K::SLOT_BYTES;
    }

    VKF_DEVICE void release() {
        arriveAt(K::empty(slot), K::EMPTY_THREADS);
        slot = nextSlot<K>(slot);
    }

    // Line 8: starts s = q k^T.
    VKF_DEVICE void startScores() {
        beginProducts();
        const uint32_t tile = waitForTile();
        multiply<K::BF16, false, false>(s, q, rightOperand(tile, 16));
        VKF_UNROLL for (uint32_t i = 1; i < K::DIM / 16; i++) {
            multiply<K::BF16, false, true>(s, q + 4 * i, rightOperand(tile + i / 4 * K::PANEL_BYTES + i % 4 * 32, 16));
        }
        endProductGroup();
    }

    // Lines 8 and 9: from products to scores, and the running maximum.
    VKF_DEVICE void finishScores(const LaneRows& rows, const Uint step, const bool partial) {
        const Int first_key = static_cast<Int>(tileAt(walk, step) * K::KEYS + 2 * (rows.lane % 4));
        if constexpr (K::SOFTCAP_OR_ALIBI) {
            addTerms(s, call, rows, first_key, scale);
        }
        if (partial) {
            dropInvisible(s, K::SOFTCAP_OR_ALIBI ? laneRows() : rows, first_key);
            if (item.some_absent) {
                dropAbsent(s, call, item, rows.lane, tileAt(walk, step) * K::KEYS);
            }
        }
        raiseMaximum(s, deferredScale(), states, o);
    }

    // Without softcap and ALiBi the scale is deferred to the exponent.
    VKF_DEVICE float deferredScale() const { return K::SOFTCAP_OR_ALIBI ? 1.0f : scale; }

    // Lines 9 and 10: p, l, and starts o += p v. The first fence comes before the wait for v, because the assembler
    // would move the exponentials behind a wait that comes first.
    VKF_DEVICE void startOutput() {
        constexpr uint32_t products = K::KEYS / 16 / K::SLICES; // of a slice
        uint32_t tile = 0;
        VKF_UNROLL for (uint32_t slice = 0; slice < K::SLICES; slice++) {
            makeProbabilities<K::BF16>(s, deferredScale(), states, p, slice * products * 8, products * 8);
            beginProducts();
            if (slice == 0) {
                tile = waitForTile();
            }
            VKF_UNROLL for (uint32_t i = slice * products; i < (slice + 1) * products; i++) {
                multiply<K::BF16, true, true>(o, p + 4 * i, rightOperand(tile + i * 2048, K::PANEL_BYTES));
            }
            endProductGroup();
        }
    }

    // Whether no row of the warpgroup sees a key of the tile.
    VKF_DEVICE bool isEmptyTile(const VisibleKeys& any, const Uint step) const {
        const Int begin = static_cast<Int>(tileAt(walk, step) * K::KEYS);
        return isEmpty(any, begin, begin + static_cast<Int>(K::KEYS));
    }

    // Takes k and v of a tile without a product.
    VKF_DEVICE void passTile() {
        VKF_UNROLL for (uint32_t i = 0; i < 2; i++) {
            waitForTile();
            release();
        }
    }

    // Lines 6 to 11 for the tiles at positions [step, end) of the walk. Without PARTIAL all are full. A kernel with
    // softcap or ALiBi has one loop for both kinds, because its code is long. Only partial tiles compute there which
    // keys are visible.
    template <bool PARTIAL> VKF_DEVICE void attend(Uint step, const Uint end) {
        const LaneRows rows = laneRows();
        const VisibleKeys any = keysOfWarpgroup();
        VKF_KEEP_LOOP for (; step < end; step++) {
            const bool partial = PARTIAL && (!K::SOFTCAP_OR_ALIBI || step >= fullTiles(walk));
            if (partial && isEmptyTile(K::SOFTCAP_OR_ALIBI ? keysOfWarpgroup() : any, step)) {
                passTile();
                continue;
            }
            startScores();
            waitForProducts<0>();
            release();
            finishScores(rows, step, partial);
            startOutput();
            waitForProducts<0>();
            release();
        }
    }

    // Lines 4 to 15.
    VKF_DEVICE void run() {
        const Uint full_end = clamp(fullTiles(walk), walk.step, walk.step_end);
        if (item.row_begin + number * 64 >=
            packedRows(call, item)) { // the last tile of rows has none for this warpgroup
            VKF_KEEP_LOOP for (Uint step = walk.step; step < walk.step_end; step++) { passTile(); }
            if (hasPartialTiles(walk)) {
                anyAt(K::flag(number), K::FLAG_THREADS, false);
            }
            return;
        }
        loadQueries();                                         // 4
        VKF_UNROLL for (uint32_t i = 0; i < K::DIM / 2; i++) { // 5
            o[i] = 0.0f;
        }
        if constexpr (!K::SOFTCAP_OR_ALIBI) { // 6 to 11
            attend<false>(walk.step, full_end);
        }
        attend<true>(K::SOFTCAP_OR_ALIBI ? walk.step : full_end, walk.step_end);
        writeResults<K>(call, item, laneRows(), states, o); // 12 to 15
        if (hasPartialTiles(walk) && anyAt(K::flag(number), K::FLAG_THREADS, false)) {
            const uint32_t thread = threadNumber() % WARPGROUP;
            addSpecialValues<K>(call, item, item.row_begin + number * 64 + thread / 32 * 16, thread % 32);
        }
    }
};

} // namespace vkf::wgmma

#endif
