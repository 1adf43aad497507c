// SPDX-License-Identifier: MIT
//
// A consumer that owns 64 keys, with all rows that see them. Scores are transposed: a result has keys as rows, so p^T
// and ds^T are left operands without a move between threads. It holds in registers:
//
//     k, v         left operands, 64 x D
//     s, dp        64 x rows of a tile; p and ds take their places
//     p, ds        left operands
//     dk, dv       64 x D
#ifndef VKF_WGMMA_BACKWARD_KEYS_HPP
#define VKF_WGMMA_BACKWARD_KEYS_HPP

#include "wgmma_backward/operands.hpp"
#include "wgmma_backward/terms.hpp"

namespace vkf::wgmma {

template <typename K> struct KeyConsumer {
    const Call call;
    const KeyItem own;
    const RowWalk walk;
    const uint32_t shared_memory;
    const uint32_t number; // which consumer of the workgroup

    uint32_t slot = 0;
    uint32_t place = 0; // in the ring of states
    uint32_t k[K::DIM / 4];
    uint32_t v[K::DIM / 4];
    float s[K::KEYS / 2];
    float dp[K::KEYS / 2];
    uint32_t p[K::KEYS / 4];
    uint32_t ds[K::KEYS / 4];
    float dk[K::DIM / 2];
    float dv[K::DIM / 2];

    VKF_DEVICE Uint firstKey() const { return own.key_begin + number * 64; }

    VKF_DEVICE OwnedRows ownedRows(const Uint tensor) const {
        const Address base = tensor == VKF_K ? call.params.k : call.params.v;
        return {headAddress(call, base, tensor, own.item.batch, own.item.kv_head, own.item.first_key),
                call.params.row_stride[tensor], own.item.keys,
                tensor == VKF_K ? call.constants.head_dim : call.constants.value_dim};
    }

    VKF_DEVICE uint32_t slotAddress(const uint32_t which) const { return shared_memory + which * K::SLOT_BYTES; }

    VKF_DEVICE void release(const uint32_t which) const { arriveAt(K::empty(which), K::EMPTY_THREADS); }

    // The states of rows 8 j + 2 (lane % 4) and the next one are at `states` + 64 j: lse, delta, lse, delta.
    VKF_DEVICE uint32_t statesOfTile() const {
        return shared_memory + K::FIRST_STATE + place * K::STATE_BYTES + threadNumber() % 4 * 16;
    }

    // s becomes p.
    VKF_DEVICE void makeProbabilities(const uint32_t states) {
        VKF_UNROLL for (uint32_t j = 0; j < K::KEYS / 8; j++) {
            const Word state = loadShared(states + 64 * j);
            VKF_UNROLL for (uint32_t i = 4 * j; i < 4 * j + 4; i++) {
                s[i] = exp2(fma(s[i], call.params.score_scale, -asFloat(state.x[i % 2 * 2])));
            }
        }
    }

    // dp becomes ds.
    VKF_DEVICE void makeGradients(const uint32_t states) {
        VKF_UNROLL for (uint32_t j = 0; j < K::KEYS / 8; j++) {
            const Word state = loadShared(states + 64 * j);
            VKF_UNROLL for (uint32_t i = 4 * j; i < 4 * j + 4; i++) {
                dp[i] = s[i] * (dp[i] - asFloat(state.x[i % 2 * 2 + 1]));
            }
        }
    }

    // s becomes p, and dp becomes ds, with softcap and ALiBi. The last row stands at the last key.
    VKF_DEVICE void addTerms(const RowCursor& cursor, const uint32_t states) {
        const uint32_t thread = threadNumber() % WARPGROUP;
        const Uint row = cursor.tile * K::KEYS + thread % 4 * 2;
        const Uint key = firstKey() + thread / 32 * 16 + thread % 32 / 4;
        const Int distance =
            static_cast<Int>(row + own.item.keys) - static_cast<Int>(key + own.item.rows); // of s[0]
        Word state{};
        finishPairs(s, dp, call, slopeOf(call, own.item.head + cursor.head), [&](const uint32_t i) {
            if (i % 4 == 0) {
                state = loadShared(states + 16 * i);
            }
            return PairState{asFloat(state.x[i % 2 * 2]), asFloat(state.x[i % 2 * 2 + 1]),
                             static_cast<float>(distance) + static_cast<float>(columnOf(i)) -
                                 static_cast<float>(8 * rowOf(i))};
        });
    }

    // Sets p and ds of rows that do not see the key to zero.
    VKF_DEVICE void dropInvisible(const Uint tile) {
        const uint32_t thread = threadNumber() % WARPGROUP;
        const Int row = static_cast<Int>(tile * K::KEYS + thread % 4 * 2);
        VKF_UNROLL for (uint32_t h = 0; h < LANE_ROWS; h++) {
            const Int key = static_cast<Int>(firstKey() + thread / 32 * 16 + thread % 32 / 4 + 8 * h);
            const Range rows = rowsThatSee(call, own.item, key, key);
            const Int begin = rows.begin - row;
            const Uint length = static_cast<Uint>(max(rows.end - rows.begin, Int{0}));
            VKF_UNROLL for (uint32_t i = 0; i < K::KEYS / 2; i++) {
                if (rowOf(i) == h && static_cast<Uint>(static_cast<Int>(columnOf(i)) - begin) >= length) {
                    s[i] = 0.0f;
                    if constexpr (K::TERMS) {
                        dp[i] = 0.0f;
                    }
                }
            }
        }
    }

    template <bool PARTIAL> VKF_DEVICE void visit(const RowCursor& cursor, bool& in_flight) {
        const uint32_t q_slot = slot;
        const uint32_t dout_slot = nextSlot<K>(slot);
        beginProducts();
        waitAt(K::full(q_slot, number), K::FULL_THREADS);
        multiplyRows<K>(s, k, slotAddress(q_slot));
        endProductGroup();
        if (K::DEFERS && in_flight) {
            waitForProducts<1>();
            const uint32_t last = q_slot == 0 ? K::SLOTS - 1 : q_slot - 1;
            release(last == 0 ? K::SLOTS - 1 : last - 1);
            release(last);
        }
        waitAt(K::full(dout_slot, number), K::FULL_THREADS);
        multiplyRows<K>(dp, v, slotAddress(dout_slot));
        endProductGroup();
        waitForProducts<1>();
        const uint32_t states = statesOfTile();
        if constexpr (K::TERMS) {
            waitForProducts<0>();
            addTerms(cursor, states);
        } else {
            makeProbabilities(states);
        }
        if (PARTIAL && (!K::TERMS || cursor.partial)) {
            dropInvisible(cursor.tile);
        }
        if constexpr (K::TERMS) {
            packOperand<K::BF16>(s, p);
        } else if constexpr (K::STARTS_DV_EARLY) {
            packOperand<K::BF16>(s, p);
            beginProducts();
            addColumns<K>(dv, p, slotAddress(dout_slot));
            endProductGroup();
            waitForProducts<1>();
            makeGradients(states);
        } else {
            waitForProducts<0>();
            makeGradients(states);
            packOperand<K::BF16>(s, p);
        }
        packOperand<K::BF16>(dp, ds);
        beginProducts();
        if constexpr (K::TERMS || !K::STARTS_DV_EARLY) {
            addColumns<K>(dv, p, slotAddress(dout_slot));
        }
        addColumns<K>(dk, ds, slotAddress(q_slot));
        endProductGroup();
        if constexpr (!K::DEFERS) {
            waitForProducts<0>();
            release(q_slot);
            release(dout_slot);
        }
        in_flight = true;
        slot = nextSlot<K>(dout_slot);
        place = (place + 1) % K::STATE_TILES;
    }

    VKF_DEVICE void run() {
        loadLeftOperand<K>(ownedRows(VKF_K), firstKey(), k);
        loadLeftOperand<K>(ownedRows(VKF_V), firstKey(), v);
        VKF_UNROLL for (uint32_t i = 0; i < K::DIM / 2; i++) { dk[i] = dv[i] = 0.0f; }
        bool in_flight = false;
        // Full tiles and partial tiles have a loop each. A kernel with terms has one for both, because its code is long.
        RowCursor cursor = K::TERMS ? firstOf(walk) : partialCursor(walk);
        if constexpr (!K::TERMS) {
            const Uint full_steps = fullTiles(walk) * walk.heads;
            VKF_KEEP_LOOP for (Uint step = 0; step < full_steps; step++) { visit<false>(cursor, in_flight); }
            if (K::DEFERS) {
                waitForProducts<0>();
            }
        }
        const Uint steps = (K::TERMS ? tilesOf(walk) : partialTiles(walk)) * walk.heads;
        VKF_KEEP_LOOP for (Uint step = 0; step < steps; step++) {
            visit<true>(cursor, in_flight);
            advance(walk, cursor);
        }
        if (K::DEFERS) {
            waitForProducts<0>();
            if (in_flight) {
                const uint32_t last = slot == 0 ? K::SLOTS - 1 : slot - 1;
                release(last == 0 ? K::SLOTS - 1 : last - 1);
                release(last);
            }
        }
        const uint32_t thread = threadNumber() % WARPGROUP;
        bool gives[LANE_ROWS];
        VKF_UNROLL for (uint32_t h = 0; h < LANE_ROWS; h++) {
            gives[h] = firstKey() + thread / 32 * 16 + thread % 32 / 4 + 8 * h < own.item.keys;
        }
        const Item& item = own.item;
        storeSums<K>(call,
                     gradientRows(call, offsetof(BackwardTable, dv), item, item.kv_head, item.first_key,
                                  call.constants.value_dim, call.constants.type_dv),
                     dv, 1.0f, firstKey(), gives, own.stored_keys);
        storeSums<K>(call,
                     gradientRows(call, offsetof(BackwardTable, dk), item, item.kv_head, item.first_key,
                                  call.constants.head_dim, call.constants.type_dk),
                     dk, tableMember<float>(call, offsetof(BackwardTable, scale)), firstKey(), gives, own.stored_keys);
    }
};

} // namespace vkf::wgmma

#endif
