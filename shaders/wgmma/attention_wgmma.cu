// SPDX-License-Identifier: MIT
//
// Fused attention on the matrix units of Hopper, with fp16 or bf16 products and fp32 sums. clang compiles this file to
// PTX, once for each entry point (shared/wgmma_params.h), with these macros:
//
//     VKF_ENTRY              name of the entry point
//     VKF_TYPE               f16 or bf16
//     VKF_DIM                64, 128 or 256: head and value dimension, padded
//     VKF_SOFTCAP_OR_ALIBI   defined if scores have a softcap or ALiBi
//     VKF_TENSOR_MAPS        defined if k and v are copied by tensor maps
//
// The kernel follows FlashAttention-3 (Shah et al. 2024, arXiv 2407.08608): algorithm 1 for the division into warps,
// algorithm 2 for the products. Numbers in comments are the lines of algorithm 1 of FlashAttention-2, as in
// coopmat/attention_coopmat.comp, because they name the same steps in both kernels:
//
//      3       for each tile i of query rows                                  a workgroup: itemOf
//      4         load q_i                                                     Consumer::loadQueries
//      5         o_i = 0, l_i = 0, m_i = -infinity                            Consumer::run
//      6         for each tile j of keys                                      Consumer::attend
//      7           load k_j, v_j                                              Producer, MapProducer
//      8           s = q_i k_j^T                                              startScores, addTerms
//      9           m_i = max(m_i, rowmax s), p = exp(s - m_i),
//                  l_i = exp(m_old - m_i) l_i + rowsum p                      raiseMaximum, makeProbabilities
//     10           o_i = exp(m_old - m_i) o_i + p v_j                         raiseMaximum, startOutput
//     12         o_i = o_i / l_i                                              writeResults
//     13         lse_i = m_i + log l_i                                        finishRow
//     14, 15     store o_i, lse_i                                             writeResults
//
// A workgroup owns the packed rows of a tile of one KV head. Its first warpgroup, the producer, copies tiles of k and v
// into slots of shared memory (producer.hpp, map_producer.hpp). The others, the consumers, own 64 packed rows each,
// with all their keys and all columns of o. A consumer waits until a slot is full, and tells the producer when it has
// read it. So while one consumer makes probabilities, the matrix units multiply for another one. A consumer holds in
// registers:
//
//     q      left operands, 64 x D
//     s      the scores of a tile, 64 x KEYS
//     p      their probabilities, left operands
//     o      64 x D
//     m, l   of the two rows of which a thread has elements (instructions.hpp, "Result")
//
// Where the kernel deviates:
//      6   Full tiles and partial tiles have a loop each, so the loop for full tiles has no mask code. Empty tiles are
//          left out.
//      7   Threads compute addresses, and with pages they look them up. Tensor maps pay where copies are the limit.
//      8   A consumer skips partial tiles of which its rows see no key.
//      9   Exponentials are powers of two. m_i moves by whole numbers, and rarely (scores.hpp).
//     12   With key splits, a workgroup takes some of the tiles j. merge_splits.comp joins the partial results.
#include "wgmma/instructions.hpp"
#include "wgmma/item.hpp"
#include "wgmma/map_producer.hpp"
#include "wgmma/output.hpp"
#include "wgmma/producer.hpp"
#include "wgmma/slots.hpp"
#include "wgmma/tile.hpp"

namespace vkf::wgmma {

template <typename K> struct Consumer {
    const Call call;
    const Item item;
    const Walk walk;
    const uint32_t number; // which consumer of the workgroup
    const float scale;     // of q . k

    RowStates states;
    ConsumerSlots<K> slots;
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

    // Waits until the products of a tile have read its pieces, and gives back their slots.
    VKF_DEVICE void releaseTile() {
        if constexpr (K::PIECES == 2) {
            waitForProducts<1>();
            slots.release();
        }
        waitForProducts<0>();
        slots.release();
    }

    // Line 8: starts s = q k^T.
    VKF_DEVICE void startScores() {
        constexpr uint32_t products = K::DIM / 16 / K::PIECES; // of a piece
        beginProducts();
        VKF_UNROLL for (uint32_t piece = 0; piece < K::PIECES; piece++) {
            const uint32_t k = slots.wait();
            VKF_UNROLL for (uint32_t i = 0; i < products; i++) {
                const uint32_t* left = q + 4 * (piece * products + i);
                const uint64_t right = rightOperand(k + i / 4 * K::PANEL_BYTES + i % 4 * 32, 16);
                if (piece == 0 && i == 0) {
                    multiply<K::BF16, false, false>(s, left, right);
                } else {
                    multiply<K::BF16, false, true>(s, left, right);
                }
            }
            endProductGroup();
        }
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
        uint32_t v = 0;
        VKF_UNROLL for (uint32_t slice = 0; slice < K::SLICES; slice++) {
            makeProbabilities<K::BF16>(s, deferredScale(), states, p, slice * products * 8, products * 8);
            beginProducts();
            if (slice % (K::SLICES / K::PIECES) == 0) {
                v = slots.wait();
            }
            VKF_UNROLL for (uint32_t i = slice * products; i < (slice + 1) * products; i++) {
                const uint64_t right = rightOperand(v + i % (K::V_KEYS / 16) * 2048, K::V_PANEL_BYTES);
                multiply<K::BF16, true, true>(o, p + 4 * i, right);
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
        VKF_UNROLL for (uint32_t i = 0; i < 2 * K::PIECES; i++) {
            slots.wait();
            slots.release();
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
            releaseTile();
            finishScores(rows, step, partial);
            startOutput();
            releaseTile();
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

#ifdef VKF_SOFTCAP_OR_ALIBI
using ThisKernel = Kernel<VKF_DIM, VKF_TYPE == bf16, true, false>;
#elif defined(VKF_TENSOR_MAPS)
using ThisKernel = Kernel<VKF_DIM, VKF_TYPE == bf16, false, true>;
#else
using ThisKernel = Kernel<VKF_DIM, VKF_TYPE == bf16, false, false>;
#endif

template <typename K>
VKF_DEVICE void attention(const shared::AttentionParams& params, const shared::WgmmaConstants& constants) {
    const Call call{params, constants};
    const uint32_t shared_memory = sharedMemory();
    const uint32_t warpgroup = uniform(threadNumber() / WARPGROUP);
    Item item = itemOf(call, K::ROWS, params.first_item + workgroupNumber()); // 3
    if (isIdle(call, item)) {
        return;
    }
    if (!K::MAPS && hasPages(call)) {
        const bool found = findsAbsentKey(call, item, K::ROWS, threadNumber(), K::THREADS);
        item.some_absent = uniform(anyAt(K::PRODUCER, K::THREADS, found)) != 0;
    }
    const Walk walk = walkOf(call, item, K::ROWS, K::KEYS);
    if constexpr (K::MAPS) {
        makeSlotBarriers<K>(shared_memory);
    }
    if (warpgroup == 0) {
        giveRegisters<K::PRODUCER_REGISTERS>();
        if constexpr (K::MAPS) { // 7
            produceByMaps<K>(call, item, walk, shared_memory);
        } else {
            produce<K>(call, item, walk, shared_memory);
        }
        return;
    }
    takeRegisters<K::CONSUMER_REGISTERS>();
    Consumer<K> consumer{.call = call,
                         .item = item,
                         .walk = walk,
                         .number = warpgroup - 1,
                         .scale = params.score_scale < 0.0f ? -params.score_scale : params.score_scale,
                         .slots = {shared_memory, warpgroup - 1}};
    consumer.run();
}

#ifdef VKF_TENSOR_MAPS
VKF_KERNEL(ThisKernel::THREADS)
VKF_ENTRY(const shared::AttentionParams params, const shared::WgmmaConstants constants, const shared::WgmmaMaps) {
    attention<ThisKernel>(params, constants);
}
#else
VKF_KERNEL(ThisKernel::THREADS)
VKF_ENTRY(const shared::AttentionParams params, const shared::WgmmaConstants constants) {
    attention<ThisKernel>(params, constants);
}
#endif

} // namespace vkf::wgmma
