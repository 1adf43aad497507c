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
// forward pass (wgmma/attention_wgmma.cu).
//
// Where the kernels deviate:
//      8   A workgroup visits the rows of all query heads of its KV head, first full tiles, then partial ones. So
//          dk and dv have one order of summation.
//     10   Scores are transposed, so p^T and ds^T are left operands in registers.
//     14   ds enters products in 16 bits. If a ds exceeds the largest fp16, sums become infinite or NaN. The workgroup
//          then asks for the kernels of path coopmat, which compute all again (planning/backward). It does so too where
//          masked rows or keys have infinity or NaN.
//     15   The other kernel computes s, dp and ds again for dq. No workgroup adds to the sums of another one.
#include "wgmma_backward/entry.hpp"
#include "wgmma_backward/keys.hpp"
#include "wgmma_backward/producer.hpp"

namespace vkf::wgmma {

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
VKF_BACKWARD_ENTRY(backward_wgmma_keys_)(const shared::AttentionParams params, const shared::WgmmaConstants constants) {
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
