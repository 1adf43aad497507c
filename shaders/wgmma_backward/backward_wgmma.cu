// SPDX-License-Identifier: MIT
#include "wgmma_backward/keys.hpp"
#include "wgmma_backward/producer.hpp"
#include "wgmma_backward/rows.hpp"

#define VKF_JOIN_4(a, b, c, d) a##b##c##d
#define VKF_ENTRY_NAME(owner, type, dim) VKF_JOIN_4(backward_wgmma_##owner, _##type, _, dim)
#define VKF_ENTRY(owner, type, dim) VKF_ENTRY_NAME(owner, type, dim)

namespace vkf::wgmma {
enum { f16 = 0, bf16 = 1 };
enum { rows = 0, keys = 1 };
using ThisKernel = BackwardKernel<VKF_DIM, VKF_TYPE == bf16, false, VKF_OWNER == keys>;

extern "C" __attribute__((shared, aligned(1024))) unsigned char vkf_slots[];

template <typename K> VKF_DEVICE void ownKeys(const Call call, const uint32_t shared_memory, const uint32_t warpgroup) {
    const KeyItem own = keyItemOf(call, K::OWNED, call.params.first_item + workgroupNumber());
    if (own.key_begin >= own.stored_keys) {
        return; // a tile of packed sequences without keys
    }
    const RowWalk walk = rowWalkOf(call, own, K::OWNED, K::KEYS);
    if (warpgroup == 0) {
        giveRegisters<K::PRODUCER_REGISTERS>();
        const Share<K> share = shareOf<K>(threadNumber());
        const uint32_t steps = tilesOf(walk) * walk.heads;
        if (steps != 0) {
            BackwardProducer<K, RowWalk>{walk,
                                         own.item.rows,
                                         shared_memory,
                                         share,
                                         {visitedTensor<K>(call, own.item, share, VKF_Q),
                                          visitedTensor<K>(call, own.item, share, VKF_DOUT)},
                                         statesOf(call, own.item, own.item.head),
                                         Address{call.params.query_rows} * 8}
                .copyAll(steps);
        }
        return;
    }
    takeRegisters<K::CONSUMER_REGISTERS>();
    KeyConsumer<K> consumer{call, own, walk, shared_memory, warpgroup - 1};
    consumer.run();
}

template <typename K> VKF_DEVICE void ownRows(const Call call, const uint32_t shared_memory, const uint32_t warpgroup) {
    const Item item = itemOf(call, K::OWNED, call.params.first_item + workgroupNumber());
    if (isIdle(call, item)) {
        return;
    }
    const Walk walk = walkOf(call, item, K::OWNED, K::KEYS);
    if (warpgroup == 0) {
        giveRegisters<K::PRODUCER_REGISTERS>();
        const Share<K> share = shareOf<K>(threadNumber());
        if (walk.step_end != 0) {
            BackwardProducer<K, Walk>{
                walk,
                item.keys,
                shared_memory,
                share,
                {visitedTensor<K>(call, item, share, VKF_V), visitedTensor<K>(call, item, share, VKF_K)},
                0,
                0}
                .copyAll(walk.step_end);
        }
        return;
    }
    takeRegisters<K::CONSUMER_REGISTERS>();
    RowConsumer<K> consumer{call, item, walk, shared_memory, warpgroup - 1};
    consumer.run();
}

VKF_KERNEL(ThisKernel::THREADS)
VKF_ENTRY(VKF_OWNER, VKF_TYPE, VKF_DIM)(const shared::AttentionParams params, const shared::WgmmaConstants constants) {
    const Call call{params, constants};
    const uint32_t shared_memory =
        static_cast<uint32_t>(reinterpret_cast<uintptr_t>((__attribute__((address_space(3))) unsigned char*)vkf_slots));
    const uint32_t warpgroup = uniform(threadNumber() / WARPGROUP);
    if constexpr (ThisKernel::OWNS_KEYS) {
        ownKeys<ThisKernel>(call, shared_memory, warpgroup);
    } else {
        ownRows<ThisKernel>(call, shared_memory, warpgroup);
    }
}

} // namespace vkf::wgmma
