// SPDX-License-Identifier: MIT
//
// The backward pass on the matrix units of Hopper, with fp16 or bf16 products and fp32 sums: the kernel that owns keys
// and writes dk and dv. backward_wgmma_rows.cu owns rows and writes dq. The algorithm is that of FlashAttention-2 (Dao
// 2023, arXiv 2307.08691, algorithm 2). Numbers in comments are its lines, as in backward_coopmat.comp:
//
//      5       for each tile j of keys                         a workgroup: keyItemOf
//      6         load k_j, v_j                                 loadLeftOperand
//      7         dk_j = 0, dv_j = 0                            KeyConsumer::run
//      8         for each tile i of query rows                 KeyConsumer::visit
//      9           load q_i, dout_i, lse, delta                BackwardProducer
//     10           s = q_i k_j^T                               multiplyRows
//     11           p = exp(s - lse)                            makeProbabilities
//     12           dv_j += p^T dout_i                          addColumns
//     13           dp = dout_i v_j^T                           multiplyRows
//     14           ds = p (dp - delta)                         makeGradients
//     16           dk_j += ds^T q_i                            addColumns
//     18         store dk_j, dv_j                              storeSums
//
// The first warpgroup of a workgroup copies tiles to shared memory (producer.hpp), the others multiply, as in the
// forward pass (wgmma/attention_wgmma.cu). A consumer owns 64 keys, with all rows that see them. It holds in registers:
//
//     k, v         left operands, 64 x D
//     s, dp        64 x rows of a tile; p and ds take their places
//     p, ds        left operands
//     dk, dv       64 x D
//
// Where the kernels deviate:
//      8   A workgroup visits the rows of all query heads of its KV head, first full tiles, then partial ones. So
//          dk and dv have one order of summation.
//     10   Scores are transposed, so p^T and ds^T are left operands in registers.
//     14   ds enters products in 16 bits. If a ds exceeds the largest fp16, sums become infinite or NaN. The workgroup
//          then asks for the kernels of path coopmat, which compute all again (planning/backward). It does so too where
//          masked rows or keys have infinity or NaN.
//     15   The other kernel computes s, dp and ds again for dq. No workgroup adds to the sums of another one.
#include "wgmma_backward/operands.hpp"
#include "wgmma_backward/producer.hpp"
#include "wgmma_backward/tile.hpp"

namespace vkf::wgmma {

template <typename K> struct KeyConsumer {
    const Call call;
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

    // What the workgroup owns. Each phase makes it anew, because registers are short in the loops.
    VKF_DEVICE KeyItem own() const {
        return keyItemOf(call, K::OWNED, call.params.first_item + workgroupNumber());
    }

    // The key of the thread's row h = 0 of results. That of h = 1 is 8 further.
    VKF_DEVICE Uint laneKey(const KeyItem & own) const {
        const uint32_t thread = threadNumber() % WARPGROUP;
        return own.key_begin + number * 64 + thread / 32 * 16 + thread % 32 / 4;
    }

    VKF_DEVICE OwnedRows ownedRows(const KeyItem & own, const Uint tensor) const {
        const Address base = tensor == VKF_K ? call.params.k : call.params.v;
        return {headAddress(call, base, tensor, own.item.batch, own.item.kv_head, own.item.first_key),
                call.params.row_stride[tensor], own.item.keys,
                tensor == VKF_K ? call.constants.head_dim : call.constants.value_dim};
    }

    VKF_DEVICE uint32_t operandAddress() const {
        return shared_memory + K::FIRST_OPERAND + number * K::OPERAND_BYTES;
    }

    // Moves the last operands of v to shared memory.
    VKF_DEVICE void shareOperands() {
        const uint32_t thread = threadNumber() % WARPGROUP;
        VKF_UNROLL for (uint32_t i = 0; i < 4 * K::SHARED_OPERANDS; i++) {
            storeSharedWord(operandAddress() + i / 4 * LEFT_OPERAND_BYTES + leftWordOffset(thread, i % 4),
                            v[K::DIM / 4 - 4 * K::SHARED_OPERANDS + i]);
        }
        publishSharedWrites();
        waitAt(K::ownOperands(number), WARPGROUP);
    }

    // Line 13: starts dp = v dout^T.
    VKF_DEVICE void startGradients(const uint32_t tile) {
        constexpr uint32_t in_registers = K::DIM / 16 - K::SHARED_OPERANDS;
        multiplyRows<K, in_registers>(dp, v, tile);
        VKF_UNROLL for (uint32_t i = in_registers; i < K::DIM / 16; i++) {
            multiplyShared<K::BF16, false, true>(
                dp, leftOperand(operandAddress() + (i - in_registers) * LEFT_OPERAND_BYTES),
                rightOperand(tile + i / 4 * K::PANEL_BYTES + i % 4 * 32, 16));
        }
    }

    VKF_DEVICE uint32_t slotAddress(const uint32_t which) const {
        return shared_memory + which * K::SLOT_BYTES;
    }

    VKF_DEVICE void release(const uint32_t which) const {
        arriveAt(K::empty(which), K::EMPTY_THREADS);
    }

    // Releases the slots of the tile before the one that begins at `next`.
    VKF_DEVICE void releaseTile(const uint32_t next) const {
        const uint32_t last = next == 0 ? K::SLOTS - 1 : next - 1;
        release(last == 0 ? K::SLOTS - 1 : last - 1);
        release(last);
    }

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
    VKF_DEVICE void addTerms(const KeyItem & own, const RowCursor & cursor, const uint32_t states) {
        const Uint row = cursor.tile * K::KEYS + threadNumber() % 4 * 2;
        const Int distance = // of s[0]
            static_cast<Int>(row + own.item.keys) - static_cast<Int>(laneKey(own) + own.item.rows);
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

    // The first row that may see the thread's key of h = 0: the window moves with the key.
    VKF_DEVICE Int firstSeeing(const KeyItem & own) const {
        return VKF_SEEING_BEGIN(static_cast<Int>(laneKey(own)), own.item.offset, call.constants.window_right);
    }

    // Sets p and ds of rows that do not see the key to zero.
    VKF_DEVICE void dropInvisible(const Uint tile, const Int first_seeing) {
        const Int row = static_cast<Int>(tile * K::KEYS + threadNumber() % 4 * 2);
        const Uint length =
            static_cast<Uint>(call.constants.window_left) + static_cast<Uint>(call.constants.window_right) + 1;
        VKF_UNROLL for (uint32_t i = 0; i < K::KEYS / 2; i++) {
            const Int past = row + static_cast<Int>(columnOf(i)) - first_seeing - static_cast<Int>(8 * rowOf(i));
            if (static_cast<Uint>(past) >= length) {
                s[i] = 0.0f;
                if constexpr (K::SOFTCAP_OR_ALIBI) {
                    dp[i] = 0.0f;
                }
            }
        }
    }

    // Lines 9 to 16 for a tile of rows. Kernels with softcap or ALiBi need `own`, partial tiles `first_seeing`.
    template <bool PARTIAL>
    VKF_DEVICE void visit(const KeyItem & own, const RowCursor & cursor, const Int first_seeing, bool & in_flight) {
        const uint32_t q_slot = slot;
        const uint32_t dout_slot = nextSlot<K>(slot);
        beginProducts();
        waitAt(K::full(q_slot, number), K::FULL_THREADS);
        multiplyRows<K>(s, k, slotAddress(q_slot));
        endProductGroup();
        if (K::DEFERS && in_flight) {
            waitForProducts<1>();
            releaseTile(q_slot);
        }
        waitAt(K::full(dout_slot, number), K::FULL_THREADS);
        startGradients(slotAddress(dout_slot));
        endProductGroup();
        waitForProducts<1>();
        const uint32_t states = statesOfTile();
        if constexpr (K::SOFTCAP_OR_ALIBI) {
            waitForProducts<0>();
            addTerms(own, cursor, states);
        } else {
            makeProbabilities(states);
        }
        if (PARTIAL && (!K::SOFTCAP_OR_ALIBI || cursor.partial)) {
            dropInvisible(cursor.tile, first_seeing);
        }
        if constexpr (K::SOFTCAP_OR_ALIBI) {
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
        if constexpr (K::SOFTCAP_OR_ALIBI || !K::STARTS_DV_EARLY) {
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

    // Waits for the last products, and releases their tiles.
    VKF_DEVICE void finishProducts(const bool in_flight) {
        waitForProducts<0>();
        if (K::DEFERS && in_flight) {
            releaseTile(slot);
        }
    }

    VKF_DEVICE RowWalk walkOfRows(const KeyItem & own) const {
        return rowWalkOf(call, own, K::OWNED, K::KEYS);
    }

    // Line 8: full tiles.
    VKF_DEVICE void visitFullTiles(bool & in_flight) {
        const RowWalk walk = walkOfRows(own());
        const Uint steps = fullTiles(walk) * walk.heads;
        VKF_KEEP_LOOP for (Uint step = 0; step < steps; step++) {
            visit<false>(KeyItem{}, RowCursor{}, 0, in_flight);
        }
        waitForProducts<0>();
    }

    // Line 8: partial tiles. A kernel with softcap or ALiBi has one loop for all tiles, because its code is long.
    VKF_DEVICE void visitPartialTiles(bool & in_flight) {
        const KeyItem here = own();
        const RowWalk walk = walkOfRows(here);
        const Int first_seeing = firstSeeing(here);
        RowCursor cursor = K::SOFTCAP_OR_ALIBI ? firstOf(walk) : partialCursor(walk);
        const Uint steps = (K::SOFTCAP_OR_ALIBI ? tilesOf(walk) : partialTiles(walk)) * walk.heads;
        VKF_KEEP_LOOP for (Uint step = 0; step < steps; step++) {
            visit<true>(here, cursor, first_seeing, in_flight);
            advance(walk, cursor);
        }
    }

    // Line 18.
    VKF_DEVICE void storeGradients() {
        const KeyItem here = own();
        const Item & item = here.item;
        const Uint first = here.key_begin + number * 64;
        bool gives[LANE_ROWS];
        VKF_UNROLL for (uint32_t h = 0; h < LANE_ROWS; h++) {
            gives[h] = laneKey(here) + 8 * h < item.keys;
        }
        storeSums<K>(call,
                     gradientRows(call, offsetof(BackwardTable, dv), item, item.kv_head, item.first_key,
                                  call.constants.value_dim, call.constants.type_dv),
                     dv, 1.0f, first, gives, here.stored_keys);
        storeSums<K>(call,
                     gradientRows(call, offsetof(BackwardTable, dk), item, item.kv_head, item.first_key,
                                  call.constants.head_dim, call.constants.type_dk),
                     dk, tableMember<float>(call, offsetof(BackwardTable, scale)), first, gives, here.stored_keys);
    }

    VKF_DEVICE void run() {
        const KeyItem here = own();
        const Uint first = here.key_begin + number * 64;
        loadLeftOperand<K>(ownedRows(here, VKF_K), first, k); // 6
        loadLeftOperand<K>(ownedRows(here, VKF_V), first, v);
        if constexpr (K::SHARED_OPERANDS != 0) {
            shareOperands();
        }
        VKF_UNROLL for (uint32_t i = 0; i < K::DIM / 2; i++) {
            dk[i] = dv[i] = 0.0f;
        } // 7
        bool in_flight = false;
        if constexpr (!K::SOFTCAP_OR_ALIBI) {
            visitFullTiles(in_flight);
        }
        visitPartialTiles(in_flight);
        finishProducts(in_flight);
        storeGradients();
    }
};

using ThisKernel = BackwardKernel<VKF_DIM, VKF_TYPE == bf16, HAS_SOFTCAP_OR_ALIBI, true>;

VKF_DEVICE void copyRows(const Call call, const KeyItem & own, const RowWalk & walk) {
    using K = ThisKernel;
    const uint32_t steps = tilesOf(walk) * walk.heads;
    if (steps == 0) {
        return;
    }
    const Item & item = own.item;
    const Share<K> share = shareOf<K>(threadNumber());
    const BackwardProducer<K, RowWalk> producer{
        walk,
        item.rows,
        sharedMemory(),
        share,
        {visitedTensor<K>(call, item, share, VKF_Q), visitedTensor<K>(call, item, share, VKF_DOUT)},
        statesOf(call, item, item.head),
        Address{call.params.query_rows} * 8};
    producer.copyAll(steps);
}

VKF_KERNEL(ThisKernel::THREADS)
VKF_ENTRY(const shared::AttentionParams params, const shared::WgmmaConstants constants) {
    using K = ThisKernel;
    const Call call{params, constants};
    const uint32_t warpgroup = uniform(threadNumber() / WARPGROUP);
    const KeyItem own = keyItemOf(call, K::OWNED, params.first_item + workgroupNumber()); // 5
    if (own.key_begin >= own.stored_keys) {
        return; // a tile of packed sequences without keys
    }
    if (warpgroup == 0) {
        giveRegisters<K::PRODUCER_REGISTERS>();
        copyRows(call, own, rowWalkOf(call, own, K::OWNED, K::KEYS)); // 9
        return;
    }
    takeRegisters<K::CONSUMER_REGISTERS>();
    KeyConsumer<K> consumer{call, sharedMemory(), warpgroup - 1};
    consumer.run();
}

} // namespace vkf::wgmma
