// SPDX-License-Identifier: MIT
//
// The producer with tensor maps. One thread starts copies, and the copy engine of the chip computes addresses, fills in
// zeros past the last key and column of the tensor, and swizzles. So copies need no registers, and a piece of 8 KB is
// on its way to each slot that is empty. Keys past a sequence that is shorter than the tensor would be copied as they
// are: right, because their tile is partial, but slow where they are infinity and NaN. So the host has other kernels
// for that (usesTensorMaps in src/pipelines/wgmma_kernels.hpp).
//
// Two other warps replace infinity and NaN in pieces of v of partial tiles (producer.hpp has the reason).
#ifndef VKF_WGMMA_MAP_PRODUCER_HPP
#define VKF_WGMMA_MAP_PRODUCER_HPP

#include "wgmma/instructions.hpp"
#include "wgmma/item.hpp"
#include "wgmma/producer.hpp"
#include "wgmma/slots.hpp"
#include "wgmma/tile.hpp"

namespace vkf::wgmma {

constexpr uint32_t BOX_COLUMNS = shared::WGMMA_BOX_COLUMNS; // a box is a panel

// A tile has PIECES of k, then PIECES of v.
template <typename K> constexpr uint32_t TILE_PIECES = 2 * K::PIECES;

template <typename K> struct MapProducer {
    const Call call;
    const Item& item;
    const Walk& walk;
    const uint32_t shared_memory;
    const SlotBarriers<K> barriers;
    SlotTurn<K> next{0, 1}; // of barrier `empty`. A new barrier counts as past phase 1

    VKF_DEVICE uint32_t slotAddress() const { return shared_memory + next.slot * K::SLOT_BYTES; }

    // Copies a panel.
    VKF_DEVICE void copyPanel(const uint64_t map, const uint32_t to, const uint32_t barrier, const uint32_t column,
                              const uint32_t key) const {
        const uint32_t sequence = call.constants.packed_sequences ? 0 : item.batch;
        copyBox(to, map, barrier, column, item.first_key + key, item.kv_head, sequence);
    }

    // Waits until the slot is empty. Returns the barrier of its next piece.
    VKF_DEVICE uint32_t beginPiece(const bool may_hide_values) const {
        waitForPhase(barriers.empty(next.slot), next.phase);
        const uint32_t barrier = may_hide_values ? barriers.copied(next.slot) : barriers.full(next.slot);
        expectBytes(barrier, K::SLOT_BYTES);
        return barrier;
    }

    VKF_DEVICE void copyAll(const uint64_t k, const uint64_t v) {
        VKF_KEEP_LOOP for (uint32_t step = walk.step; step < walk.step_end; step++) {
            const uint32_t key = tileAt(walk, step) * K::KEYS;
            VKF_KEEP_LOOP for (uint32_t piece = 0; piece < K::PIECES; piece++) {
                const uint32_t barrier = beginPiece(false);
                VKF_UNROLL for (uint32_t i = 0; i < K::K_COLUMNS / BOX_COLUMNS; i++) {
                    copyPanel(k, slotAddress() + i * K::PANEL_BYTES, barrier, piece * K::K_COLUMNS + i * BOX_COLUMNS,
                              key);
                }
                next.advance();
            }
            VKF_KEEP_LOOP for (uint32_t piece = 0; piece < K::PIECES; piece++) {
                const uint32_t barrier = beginPiece(step >= fullTiles(walk));
                VKF_UNROLL for (uint32_t i = 0; i < K::DIM / BOX_COLUMNS; i++) {
                    copyPanel(v, slotAddress() + i * K::V_PANEL_BYTES, barrier, i * BOX_COLUMNS,
                              key + piece * K::V_KEYS);
                }
                next.advance();
            }
        }
    }
};

// Replaces special values in the pieces of v of partial tiles, and tells the consumers whether there were any. By
// CLEANERS threads.
template <typename K>
VKF_DEVICE void cleanPartialTiles(const Walk& walk, const uint32_t shared_memory, const uint32_t thread) {
    const SlotBarriers<K> barriers{shared_memory};
    uint32_t phases = 0; // bit i: of the barrier `copied` of slot i
    bool saw_special_values = false;
    VKF_KEEP_LOOP for (uint32_t step = max(walk.step, fullTiles(walk)); step < walk.step_end; step++) {
        VKF_KEEP_LOOP for (uint32_t piece = 0; piece < K::PIECES; piece++) {
            const uint32_t slot = ((step - walk.step) * TILE_PIECES<K> + K::PIECES + piece) % K::SLOTS;
            waitForPhase(barriers.copied(slot), phases >> slot & 1);
            phases ^= 1u << slot;
            VKF_UNROLL for (uint32_t i = 0; i < K::SLOT_BYTES / 16 / K::CLEANERS; i++) {
                const uint32_t address = shared_memory + slot * K::SLOT_BYTES + (i * K::CLEANERS + thread) * 16;
                dropSpecialHalvesAt<K::BF16>(address, saw_special_values);
            }
            publishSharedWrites();
            waitAt(K::PRODUCER, K::CLEANERS);
            if (thread == 0) {
                arriveAtBarrier(barriers.full(slot));
            }
        }
    }
    VKF_UNROLL for (uint32_t consumer = 0; consumer < K::CONSUMERS; consumer++) {
        anyAt(K::flag(consumer), K::FLAG_THREADS, saw_special_values);
    }
}

// By all threads of the producer.
template <typename K>
VKF_DEVICE void produceByMaps(const Call call, const Item& item, const Walk& walk, const uint32_t shared_memory) {
    const uint32_t thread = threadNumber();
    if (thread == 0) {
        const uint64_t maps = VKF_PARAMETER_ADDRESS(2);
        MapProducer<K> producer{call, item, walk, shared_memory, {shared_memory}};
        producer.copyAll(maps + offsetof(shared::WgmmaMaps, k), maps + offsetof(shared::WgmmaMaps, v));
    } else if (hasPartialTiles(walk) && thread >= WARPGROUP - K::CLEANERS) {
        cleanPartialTiles<K>(walk, shared_memory, thread - (WARPGROUP - K::CLEANERS));
    }
}

} // namespace vkf::wgmma

#endif
