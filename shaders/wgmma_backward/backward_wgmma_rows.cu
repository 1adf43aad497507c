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
#include "wgmma_backward/entry.hpp"
#include "wgmma_backward/producer.hpp"
#include "wgmma_backward/rows.hpp"

namespace vkf::wgmma {

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
VKF_BACKWARD_ENTRY(backward_wgmma_rows_)(const shared::AttentionParams params, const shared::WgmmaConstants constants) {
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
