// SPDX-License-Identifier: MIT
//
// Fused attention on the matrix units of Hopper, with fp16 or bf16 products and fp32 sums. clang compiles this file to
// PTX, once for each entry point (shared/wgmma_params.h), with these macros:
//
//     VKF_TYPE               f16 or bf16
//     VKF_DIM                64, 128 or 256: head and value dimension, padded
//     VKF_SOFTCAP_OR_ALIBI   defined if scores have a softcap or ALiBi
//
// The kernel follows FlashAttention-3 (Shah et al. 2024, arXiv 2407.08608): algorithm 1 for the division into warps,
// algorithm 2 for the products. Numbers in comments are the lines of algorithm 1 of FlashAttention-2, as in
// coopmat/attention_coopmat.comp, because they name the same steps in both kernels:
//
//      3       for each tile i of query rows                                  a workgroup: itemOf
//      4         load q_i                                                     Consumer::loadQueries
//      5         o_i = 0, l_i = 0, m_i = -infinity                            Consumer::run
//      6         for each tile j of keys                                      Consumer::attend
//      7           load k_j, v_j                                              Producer
//      8           s = q_i k_j^T                                              startScores, addTerms
//      9           m_i = max(m_i, rowmax s), p = exp(s - m_i),
//                  l_i = exp(m_old - m_i) l_i + rowsum p                      raiseMaximum, makeProbabilities
//     10           o_i = exp(m_old - m_i) o_i + p v_j                         raiseMaximum, startOutput
//     12         o_i = o_i / l_i                                              writeResults
//     13         lse_i = m_i + log l_i                                        finishRow
//     14, 15     store o_i, lse_i                                             writeResults
//
// A workgroup owns the packed rows of a tile of one KV head. Its first warpgroup, the producer, copies tiles of k and v
// into slots of shared memory (producer.hpp). The others, the consumers, own 64 rows each (consumer.hpp). A consumer
// waits until a slot is full, and tells the producer when it has read it. So while one consumer makes probabilities,
// the matrix units multiply for another one.
//
// Where the kernel deviates:
//      6   Full tiles and partial tiles have a loop each, so the loop for full tiles has no mask code. Empty tiles are
//          left out.
//      7   No tensor map exists in Vulkan, so threads compute addresses. With pages they look them up.
//      8   A consumer skips partial tiles of which its rows see no key.
//      9   Exponentials are powers of two. m_i moves by whole numbers, and rarely (softmax.hpp).
//     12   With key splits, a workgroup takes some of the tiles j. merge_splits.comp joins the partial results.
#include "wgmma/consumer.hpp"
#include "wgmma/instructions.hpp"
#include "wgmma/item.hpp"
#include "wgmma/producer.hpp"
#include "wgmma/tile.hpp"

#define VKF_JOIN_4(a, b, c, d) a##b##c##d
#define VKF_ENTRY_NAME(type, dim, suffix) VKF_JOIN_4(attention_wgmma_, type, _##dim, suffix)
#define VKF_ENTRY(type, dim, suffix) VKF_ENTRY_NAME(type, dim, suffix)
#ifdef VKF_SOFTCAP_OR_ALIBI
#define VKF_SUFFIX _terms
#else
#define VKF_SUFFIX
#endif

namespace vkf::wgmma {
enum { f16 = 0, bf16 = 1 };
#ifdef VKF_SOFTCAP_OR_ALIBI
using ThisKernel = Kernel<VKF_DIM, VKF_TYPE == bf16, true>;
#else
using ThisKernel = Kernel<VKF_DIM, VKF_TYPE == bf16, false>;
#endif

// The launch chooses the size. Slots begin at multiples of 1024 bytes, because of the swizzle.
extern "C" __attribute__((shared, aligned(1024))) unsigned char vkf_slots[];

VKF_KERNEL(ThisKernel::THREADS)
VKF_ENTRY(VKF_TYPE, VKF_DIM, VKF_SUFFIX)(const shared::AttentionParams params, const shared::WgmmaConstants constants) {
    using K = ThisKernel;
    const Call call{params, constants};
    const uint32_t shared_memory =
        static_cast<uint32_t>(reinterpret_cast<uintptr_t>((__attribute__((address_space(3))) unsigned char*)vkf_slots));
    const uint32_t warpgroup = uniform(threadNumber() / WARPGROUP);
    Item item = itemOf(call, K::ROWS, params.first_item + workgroupNumber()); // 3
    if (isIdle(call, item)) {
        return;
    }
    if (hasPages(call)) {
        const bool found = findsAbsentKey(call, item, K::ROWS, threadNumber(), K::THREADS);
        item.some_absent = uniform(anyAt(K::PRODUCER, K::THREADS, found)) != 0;
    }
    const Walk walk = walkOf(call, item, K::ROWS, K::KEYS);
    if (warpgroup == 0) {
        giveRegisters<K::PRODUCER_REGISTERS>();
        produce<K>(call, item, walk, shared_memory); // 7
        return;
    }
    takeRegisters<K::CONSUMER_REGISTERS>();
    Consumer<K> consumer{call,          item,
                         walk,          shared_memory,
                         warpgroup - 1, params.score_scale < 0.0f ? -params.score_scale : params.score_scale};
    consumer.run();
}

} // namespace vkf::wgmma
