// SPDX-License-Identifier: MIT
//
// The slots of shared memory as a consumer sees them. It takes pieces of tiles in the order in which the producer
// copies them, and gives their slots back in this order.
#ifndef VKF_WGMMA_SLOTS_HPP
#define VKF_WGMMA_SLOTS_HPP

#include "wgmma/instructions.hpp"
#include "wgmma/tile.hpp"

namespace vkf::wgmma {

// The barriers of a slot in shared memory, for copies by tensor maps.
//   full     the slot has a piece that consumers may read
//   empty    all warps of the consumers have read it
//   copied   the slot has a piece of v that the producer still looks through for special values
template <typename K> struct SlotBarriers {
    static constexpr uint32_t BYTES = 8;
    uint32_t shared_memory;

    VKF_DEVICE uint32_t full(const uint32_t slot) const { return at(slot); }
    VKF_DEVICE uint32_t empty(const uint32_t slot) const { return at(K::SLOTS + slot); }
    VKF_DEVICE uint32_t copied(const uint32_t slot) const { return at(2 * K::SLOTS + slot); }
    static_assert(3 * K::SLOTS * BYTES <= K::BARRIER_BYTES);

private:
    VKF_DEVICE uint32_t at(const uint32_t number) const {
        return shared_memory + K::SLOTS * K::SLOT_BYTES + number * BYTES;
    }
};

// Before the first copy, by all threads of the workgroup.
template <typename K> VKF_DEVICE void makeSlotBarriers(const uint32_t shared_memory) {
    if (threadNumber() == 0) {
        const SlotBarriers<K> barriers{shared_memory};
        VKF_UNROLL for (uint32_t slot = 0; slot < K::SLOTS; slot++) {
            makeBarrier(barriers.full(slot), 1);
            makeBarrier(barriers.empty(slot), K::CONSUMERS * (WARPGROUP / 32));
            makeBarrier(barriers.copied(slot), 1);
        }
        publishSharedWrites();
    }
    waitAt(K::PRODUCER, K::THREADS);
}

// A slot, and the phase of one of its barriers, modulo 2. Slots take turns.
template <typename K> struct SlotTurn {
    uint32_t slot;
    uint32_t phase;

    VKF_DEVICE void advance() {
        slot = nextSlot<K>(slot);
        phase ^= slot == 0 ? 1 : 0;
    }
};

// With named barriers.
template <typename K, bool MAPS = K::MAPS> struct ConsumerSlots {
    const uint32_t shared_memory;
    const uint32_t consumer;
    uint32_t slot = 0;

    // The address of the next piece.
    VKF_DEVICE uint32_t wait() const {
        waitAt(K::full(slot, consumer), K::FULL_THREADS);
        return shared_memory + slot * K::SLOT_BYTES;
    }

    VKF_DEVICE void release() {
        arriveAt(K::empty(slot), K::EMPTY_THREADS);
        slot = nextSlot<K>(slot);
    }
};

// With barriers in shared memory.
template <typename K> struct ConsumerSlots<K, true> {
    const uint32_t shared_memory;
    const uint32_t consumer;
    SlotTurn<K> next{};  // of barrier `full`
    uint32_t oldest = 0; // to give back

    VKF_DEVICE uint32_t wait() {
        waitForPhase(SlotBarriers<K>{shared_memory}.full(next.slot), next.phase);
        const uint32_t piece = shared_memory + next.slot * K::SLOT_BYTES;
        next.advance();
        return piece;
    }

    VKF_DEVICE void release() {
        syncWarp(); // no lane may still wait for the slot
        if (threadNumber() % 32 == 0) {
            arriveAtBarrier(SlotBarriers<K>{shared_memory}.empty(oldest));
        }
        oldest = nextSlot<K>(oldest);
    }
};

} // namespace vkf::wgmma

#endif
