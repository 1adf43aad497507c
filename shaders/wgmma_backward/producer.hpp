// SPDX-License-Identifier: MIT
//
// The producer of the backward pass: a warpgroup that copies the tiles that a workgroup visits to shared memory. Each
// step of the walk fills two slots:
//
//     owner of keys    q and the states of its rows, then dout
//     owner of rows    v, then k
//
// v comes before k, because the consumers release it earlier. Rows, keys and columns past the last one become zeros.
// They then add nothing: dout and dp are zero, whatever p is.
#ifndef VKF_WGMMA_BACKWARD_PRODUCER_HPP
#define VKF_WGMMA_BACKWARD_PRODUCER_HPP

#include "wgmma/producer.hpp"
#include "wgmma_backward/item.hpp"
#include "wgmma_backward/tile.hpp"

namespace vkf::wgmma {

// The thread's words of a tensor whose tiles are visited.
struct VisitedTensor {
    Address first; // the word of row or key 0 of the first head
    Address head_stride;
    uint32_t row_stride;
    uint32_t bytes; // 16, or 0 if the columns of the words do not exist
};

template <typename K>
VKF_DEVICE VisitedTensor visitedTensor(const Call call, const Item & item, const Share<K> share, const Uint tensor) {
    const bool rows = tensor == VKF_Q || tensor == VKF_DOUT;
    const Address base = tensor == VKF_Q   ? call.params.q
                         : tensor == VKF_K ? call.params.k
                         : tensor == VKF_V ? call.params.v
                                           : call.params.o;
    const Uint dim = tensor == VKF_Q || tensor == VKF_K ? call.constants.head_dim : call.constants.value_dim;
    const Address head = headAddress(call, base, tensor, item.batch, rows ? item.head : item.kv_head,
                                     rows ? item.first_row : item.first_key);
    return {head + share.word * 16, rows ? strideOffset(call, 1, call.params.head_stride[tensor]) : 0,
            call.params.row_stride[tensor], share.word * 8 < dim ? 16u : 0u};
}

// `Walk` and its cursor say which tiles.
template <typename K, typename Walk> struct BackwardProducer {
    const Walk walk;
    const uint32_t count; // rows or keys of the sequence that are visited
    const uint32_t shared_memory;
    const Share<K> share;
    const VisitedTensor tensors[2];
    const Address states;      // of row 0 of the first head
    const Address head_states; // bytes from head to head

    VKF_DEVICE void announce(const uint32_t slot) const {
        publishSharedWrites();
        VKF_UNROLL for (uint32_t consumer = 0; consumer < K::CONSUMERS; consumer++) {
            arriveAt(K::full(slot, consumer), K::FULL_THREADS);
        }
    }

    // Starts to copy a tile of tensor T.
    template <uint32_t T> VKF_DEVICE void copy(const Uint head, const Uint tile, const uint32_t slot) const {
        const VisitedTensor & from = tensors[T];
        const uint32_t to = shared_memory + slot * K::SLOT_BYTES;
        const uint32_t row = tile * K::KEYS + share.key;
        Address address = from.first + Address{row} * from.row_stride;
        if constexpr (K::OWNS_KEYS) {
            address += head * from.head_stride;
        }
        VKF_UNROLL for (uint32_t i = 0; i < Share<K>::WORDS; i++) {
            copyWord(to + share.offset(i), address, row + i * Share<K>::KEY_STEP < count ? from.bytes : 0);
            address += Address{from.row_stride} * Share<K>::KEY_STEP;
        }
    }

    // Starts to copy the states of a tile of rows to their place number `place` in the ring.
    VKF_DEVICE void copyStates(const Uint head, const Uint tile, const uint32_t place) const {
        const uint32_t thread = threadNumber();
        const uint32_t row = tile * K::KEYS + thread;
        if (thread < K::KEYS) {
            copyHalfWord(shared_memory + K::FIRST_STATE + place * K::STATE_BYTES + thread * 8,
                         states + head * head_states + Address{min(row, count - 1)} * 8, row < count ? 8 : 0);
        }
    }

    VKF_DEVICE void waitForSlot(const uint32_t fill, const uint32_t slot) const {
        if (fill >= K::SLOTS) {
            waitAt(K::empty(slot), K::EMPTY_THREADS);
        }
    }

    // One tile is announced while the next one is in flight.
    VKF_DEVICE void copyAll(const uint32_t steps) const {
        auto cursor = firstOf(walk);
        uint32_t slot = 0;
        uint32_t last_slot = 0;
        uint32_t fill = 0;
        VKF_KEEP_LOOP for (uint32_t step = 0; step < steps; step++) {
            waitForSlot(fill, slot);
            copy<0>(cursor.head, cursor.tile, slot);
            if constexpr (K::OWNS_KEYS) {
                copyStates(cursor.head, cursor.tile, step % K::STATE_TILES);
            }
            endCopyGroup();
            if (step != 0) {
                waitForCopies<1>();
                announce(last_slot);
            }
            last_slot = slot;
            slot = nextSlot<K>(slot);
            fill++;
            waitForSlot(fill, slot);
            copy<1>(cursor.head, cursor.tile, slot);
            endCopyGroup();
            waitForCopies<1>();
            announce(last_slot);
            last_slot = slot;
            slot = nextSlot<K>(slot);
            fill++;
            advance(walk, cursor);
        }
        waitForCopies<0>();
        announce(last_slot);
        // Waits until the consumers have read the last fills. So each arrival at a barrier has its wait.
        VKF_KEEP_LOOP for (uint32_t i = fill < K::SLOTS ? 0 : fill - K::SLOTS; i < fill; i++) {
            waitAt(K::empty(i % K::SLOTS), K::EMPTY_THREADS);
        }
    }
};

} // namespace vkf::wgmma

#endif
