// SPDX-License-Identifier: MIT
//
// The kernel of the backward pass that owns rows and writes dq. backward_wgmma_keys.cu has the numbers of the lines and
// explains both.
//
//      8       for each tile i of query rows                   a workgroup: rowItemOf
//      9         load q_i, dout_i, lse, delta                  loadLeftOperand, loadStates
//      5         for each tile j of keys                       RowConsumer::visit
//      6           load k_j, v_j                               BackwardProducer
//     10           s = q_i k_j^T                               multiplyRows
//     11           p = exp(s - lse)                            makeGradients
//     13           dp = dout_i v_j^T                           multiplyRows
//     14           ds = p (dp - delta)                         makeGradients
//     15           dq_i += ds k_j                              addColumns
//                store dq_i                                    storeSums
//
// A consumer owns 64 rows, with all keys that they see. It holds in registers:
//
//     q, dout      left operands, 64 x D
//     s, dp        64 x keys of a tile; p and ds take their places
//     ds           left operand
//     dq           64 x D
//     lse, delta   of the two rows of which a thread has elements
//
// One tile of k serves both products: its lines are the columns of s, and the depth of dq.
#include "wgmma_backward/operands.hpp"
#include "wgmma_backward/producer.hpp"
#include "wgmma_backward/tile.hpp"

namespace vkf::wgmma {

template <typename K> struct RowConsumer {
    const Call call;
    const Item item;
    const Walk walk;
    const uint32_t shared_memory;
    const uint32_t number; // which consumer of the workgroup

    uint32_t slot = 0;
    float lse[LANE_ROWS];
    float delta[LANE_ROWS];
    uint32_t q[K::DIM / 4];
    uint32_t dout[K::DIM / 4];
    float s[K::KEYS / 2];
    float dp[K::KEYS / 2];
    uint32_t ds[K::KEYS / 4];
    float dq[K::DIM / 2];

    VKF_DEVICE Uint firstRow() const {
        return item.row_begin + number * 64;
    }

    VKF_DEVICE Uint laneRow(const uint32_t h) const {
        const uint32_t thread = threadNumber() % WARPGROUP;
        return firstRow() + thread / 32 * 16 + thread % 32 / 4 + 8 * h;
    }

    VKF_DEVICE OwnedRows ownedRows(const Uint tensor) const {
        const Address base = tensor == VKF_Q ? call.params.q : call.params.o;
        return {headAddress(call, base, tensor, item.batch, item.head, item.first_row), call.params.row_stride[tensor],
                item.rows, tensor == VKF_Q ? call.constants.head_dim : call.constants.value_dim};
    }

    VKF_DEVICE void loadStates() {
        const Address states = statesOf(call, item, item.head);
        VKF_UNROLL for (uint32_t h = 0; h < LANE_ROWS; h++) {
            const Address state = states + Address{min(laneRow(h), item.rows - 1)} * 8;
            lse[h] = loadGlobal<float>(state);
            delta[h] = loadGlobal<float>(state + 4);
        }
    }

    VKF_DEVICE uint32_t slotAddress(const uint32_t which) const {
        return shared_memory + which * K::SLOT_BYTES;
    }

    VKF_DEVICE void release(const uint32_t which) const {
        arriveAt(K::empty(which), K::EMPTY_THREADS);
    }

    // The key of s[0] in a tile.
    VKF_DEVICE static Int firstKey(const Uint tile) {
        return static_cast<Int>(tile * K::KEYS + threadNumber() % 4 * 2);
    }

    // Sets p and ds of keys that the row does not see to zero.
    VKF_DEVICE void dropInvisible(const Uint tile) {
        VKF_UNROLL for (uint32_t h = 0; h < LANE_ROWS; h++) {
            const Range keys = windowKeys(call, item, min(laneRow(h), item.rows - 1));
            const Int begin = keys.begin - firstKey(tile);
            const Uint length = static_cast<Uint>(max(keys.end - keys.begin, Int{0}));
            VKF_UNROLL for (uint32_t i = 0; i < K::KEYS / 2; i++) {
                if (rowOf(i) == h && static_cast<Uint>(static_cast<Int>(columnOf(i)) - begin) >= length) {
                    s[i] = 0.0f;
                    dp[i] = 0.0f;
                }
            }
        }
    }

    // s becomes p, dp becomes ds.
    VKF_DEVICE void makeGradients(const Uint tile) {
        if constexpr (K::SOFTCAP_OR_ALIBI) { // the last row stands at the last key
            const Int distance =
                static_cast<Int>(laneRow(0) + item.keys) - static_cast<Int>(item.rows) - firstKey(tile);
            finishPairs(s, dp, call, slopeOf(call, item.head), [&](const uint32_t i) {
                return PairState{lse[rowOf(i)], delta[rowOf(i)],
                                 static_cast<float>(distance) + static_cast<float>(8 * rowOf(i)) -
                                     static_cast<float>(columnOf(i))};
            });
        } else {
            VKF_UNROLL for (uint32_t i = 0; i < K::KEYS / 2; i++) {
                s[i] = exp2(fma(s[i], call.params.score_scale, -lse[rowOf(i)]));
                dp[i] = s[i] * (dp[i] - delta[rowOf(i)]);
            }
        }
    }

    template <bool PARTIAL> VKF_DEVICE void visit(const Uint tile, const bool partial, bool & in_flight) {
        const uint32_t v_slot = slot;
        const uint32_t k_slot = nextSlot<K>(slot);
        beginProducts();
        waitAt(K::full(v_slot, number), K::FULL_THREADS);
        multiplyRows<K>(dp, dout, slotAddress(v_slot));
        endProductGroup();
        if (K::DEFERS && in_flight) {
            waitForProducts<1>();
            release(v_slot == 0 ? K::SLOTS - 1 : v_slot - 1);
        }
        waitAt(K::full(k_slot, number), K::FULL_THREADS);
        multiplyRows<K>(s, q, slotAddress(k_slot));
        endProductGroup();
        waitForProducts<1>();
        release(v_slot);
        waitForProducts<0>();
        makeGradients(tile);
        if (PARTIAL && (!K::SOFTCAP_OR_ALIBI || partial)) {
            dropInvisible(tile);
        }
        packOperand<K::BF16>(dp, ds);
        beginProducts();
        addColumns<K>(dq, ds, slotAddress(k_slot));
        endProductGroup();
        if constexpr (!K::DEFERS) {
            waitForProducts<0>();
            release(k_slot);
        }
        in_flight = true;
        slot = nextSlot<K>(k_slot);
    }

    VKF_DEVICE void run() {
        loadLeftOperand<K>(ownedRows(VKF_Q), firstRow(), q);
        loadLeftOperand<K>(ownedRows(VKF_DOUT), firstRow(), dout);
        loadStates();
        VKF_UNROLL for (uint32_t i = 0; i < K::DIM / 2; i++) {
            dq[i] = 0.0f;
        }
        bool in_flight = false;
        // Full tiles and partial tiles have a loop each. A kernel with softcap or ALiBi has one for both, because its
        // code is long.
        const Uint full = fullTiles(walk);
        if constexpr (!K::SOFTCAP_OR_ALIBI) {
            VKF_KEEP_LOOP for (Uint step = 0; step < full; step++) {
                visit<false>(0, false, in_flight);
            }
            if (K::DEFERS) {
                waitForProducts<0>();
            }
        }
        VKF_KEEP_LOOP for (Uint step = K::SOFTCAP_OR_ALIBI ? 0 : full; step < walk.step_end; step++) {
            visit<true>(tileAt(walk, step), step >= full, in_flight);
        }
        if (K::DEFERS) {
            waitForProducts<0>();
            if (in_flight) {
                release(slot == 0 ? K::SLOTS - 1 : slot - 1);
            }
        }
        bool gives[LANE_ROWS];
        VKF_UNROLL for (uint32_t h = 0; h < LANE_ROWS; h++) {
            gives[h] = laneRow(h) < item.rows && lse[h] != -MINUS_INFINITY;
        }
        storeSums<K>(call,
                     gradientRows(call, offsetof(BackwardTable, dq), item, item.head, item.first_row,
                                  call.constants.head_dim, call.constants.type_dq),
                     dq, tableMember<float>(call, offsetof(BackwardTable, scale)), firstRow(), gives, item.rows);
    }
};

using ThisKernel = BackwardKernel<VKF_DIM, VKF_TYPE == bf16, HAS_SOFTCAP_OR_ALIBI, false>;

VKF_DEVICE void copyKeys(const Call call, const Item & item, const Walk & walk) {
    using K = ThisKernel;
    if (walk.step_end == 0) {
        return;
    }
    const Share<K> share = shareOf<K>(threadNumber());
    const BackwardProducer<K, Walk> producer{
        walk,
        item.keys,
        sharedMemory(),
        share,
        {visitedTensor<K>(call, item, share, VKF_V), visitedTensor<K>(call, item, share, VKF_K)},
        0,
        0};
    producer.copyAll(walk.step_end);
}

VKF_KERNEL(ThisKernel::THREADS)
VKF_ENTRY(const shared::AttentionParams params, const shared::WgmmaConstants constants) {
    using K = ThisKernel;
    const Call call{params, constants};
    const uint32_t warpgroup = uniform(threadNumber() / WARPGROUP);
    const Item item = rowItemOf(call, K::OWNED, params.first_item + workgroupNumber()); // 8
    if (isIdle(call, item)) {
        return;
    }
    const Walk walk = walkOf(call, item, K::OWNED, K::KEYS);
    if (warpgroup == 0) {
        giveRegisters<K::PRODUCER_REGISTERS>();
        copyKeys(call, item, walk); // 6
        return;
    }
    takeRegisters<K::CONSUMER_REGISTERS>();
    RowConsumer<K> consumer{call, item, walk, sharedMemory(), warpgroup - 1};
    consumer.run();
}

} // namespace vkf::wgmma
