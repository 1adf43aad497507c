// SPDX-License-Identifier: MIT
//
// The sizes of a kernel, its place in shared memory and in the named barriers, and how the threads of its producer
// share a tile. Plain functions, so tests compile them for the host.
#ifndef VKF_WGMMA_TILE_HPP
#define VKF_WGMMA_TILE_HPP

#include "shared/wgmma_params.h"
#include "wgmma/device.hpp"

namespace vkf::wgmma {

constexpr uint32_t WARPGROUP = 128; // threads

enum { f16 = 0, bf16 = 1 }; // what VKF_TYPE says

constexpr shared::WgmmaTile tileOf(const uint32_t dim) {
    for (const shared::WgmmaTile& tile : shared::WGMMA_TILES) {
        if (tile.dim == dim) {
            return tile;
        }
    }
    return {};
}

// A piece of a tile of k or v lies in one of SLOTS slots of shared memory. Columns lie in panels of 64, each with a
// line of 128 bytes for each key (instructions.hpp, "Right operand").
template <uint32_t PADDED_DIM, bool IS_BF16, bool HAS_SOFTCAP_OR_ALIBI, bool HAS_MAPS = false> struct Kernel {
    static constexpr uint32_t DIM = PADDED_DIM;
    static constexpr bool BF16 = IS_BF16;
    static constexpr bool SOFTCAP_OR_ALIBI = HAS_SOFTCAP_OR_ALIBI; // entry points with "_terms"
    static constexpr bool MAPS = HAS_MAPS;                         // entry points with "_maps": copies by tensor maps
    static constexpr uint32_t ROWS = tileOf(DIM).rows;
    static constexpr uint32_t KEYS = tileOf(DIM).keys;
    static constexpr uint32_t THREADS = tileOf(DIM).threads;
    static constexpr uint32_t CONSUMERS = ROWS / 64; // warpgroups that multiply
    // A piece of k has all keys and a part of the columns, a piece of v a part of the keys and all columns. Smaller
    // pieces are free earlier, but each has its waits.
    static constexpr uint32_t PIECES = MAPS ? shared::WGMMA_MAP_PIECES : 1;
    static constexpr uint32_t K_COLUMNS = DIM / PIECES;
    static constexpr uint32_t V_KEYS = KEYS / PIECES;
    static constexpr uint32_t PANEL_BYTES = KEYS * 128;
    static constexpr uint32_t V_PANEL_BYTES = V_KEYS * 128;
    static constexpr uint32_t SLOT_BYTES = PANEL_BYTES * (K_COLUMNS / 64);
    static constexpr uint32_t BARRIER_BYTES = MAPS ? 128 : 0; // of the barriers in shared memory, behind the slots
    static constexpr uint32_t SLOTS = (tileOf(DIM).shared_bytes - BARRIER_BYTES) / SLOT_BYTES;
    static_assert(THREADS == WARPGROUP * (1 + CONSUMERS));

    // Choices by measurement; lab/log-0.4.md, "Path wgmma", has the figures.
    //
    // Whether the producer fetches the next tile into its registers while all slots are full. Consumers with D = 64
    // have the registers to spare.
    static constexpr bool FETCHES_AHEAD = DIM == 64 && !SOFTCAP_OR_ALIBI;
    // A tile is divided into so many slices of keys. A consumer makes the probabilities of a slice while the product p
    // v of the slice before it runs.
    static constexpr uint32_t SLICES = FETCHES_AHEAD ? 1 : DIM == 64 ? 4 : 2;
    static_assert(SLICES % PIECES == 0);

    // Registers of a thread. A launch gives each thread the same number; setmaxnreg deals them out again.
    static constexpr uint32_t PRODUCER_REGISTERS = FETCHES_AHEAD ? 56 : CONSUMERS == 3 ? 32 : 24;
    static constexpr uint32_t CONSUMER_REGISTERS = FETCHES_AHEAD ? 152 : CONSUMERS == 3 ? 160 : 240;

    // Named barriers. With maps, slots have barriers in shared memory instead (slots.hpp).
    //
    //   full(slot, consumer)  the slot has a tile: the producer arrives, the consumer waits. Each consumer has its own
    //                         barrier, so that one may be ahead of another.
    //   empty(slot)           all consumers have read the slot: they arrive, the producer waits
    //   PRODUCER              threads of the producer; before the first tile, all threads of the workgroup
    //   flag(consumer)        threads of the producer tell the consumer about special values
    static constexpr uint32_t full(const uint32_t slot, const uint32_t consumer) { return slot * CONSUMERS + consumer; }
    static constexpr uint32_t empty(const uint32_t slot) { return SLOTS * CONSUMERS + slot; }
    static constexpr uint32_t PRODUCER = MAPS ? 0 : SLOTS * (CONSUMERS + 1);
    static constexpr uint32_t flag(const uint32_t consumer) { return PRODUCER + 1 + consumer; }
    static_assert(PRODUCER + CONSUMERS < 16);
    static_assert(CONSUMERS <= WARPGROUP / 32);

    // With maps: threads of the producer that look for special values.
    static constexpr uint32_t CLEANERS = 64;

    // Threads that meet at them.
    static constexpr uint32_t FULL_THREADS = 2 * WARPGROUP;
    static constexpr uint32_t EMPTY_THREADS = THREADS;
    static constexpr uint32_t FLAG_THREADS = WARPGROUP + (MAPS ? CLEANERS : 32);
};

// The slot after a slot.
template <typename K> VKF_DEVICE uint32_t nextSlot(const uint32_t slot) { return slot + 1 == K::SLOTS ? 0 : slot + 1; }

// How the threads of a producer share the words of a tile.

// Which words of a tile a thread copies: the same columns of every KEY_STEP-th key.
template <typename K> struct Share {
    static constexpr uint32_t ROW_WORDS = K::DIM / 8;
    static constexpr uint32_t KEY_STEP = WARPGROUP / ROW_WORDS;
    static constexpr uint32_t WORDS = K::KEYS / KEY_STEP;
    uint32_t key;  // the first key
    uint32_t word; // which word of its row

    // Place of word number `i` in a slot.
    VKF_DEVICE uint32_t offset(const uint32_t i) const {
        const uint32_t line = key + i * KEY_STEP;
        return word / 8 * K::PANEL_BYTES + line * 128 + (word % 8 ^ line % 8) * 16;
    }
};

template <typename K> VKF_DEVICE Share<K> shareOf(const uint32_t thread) {
    return {thread / Share<K>::ROW_WORDS, thread % Share<K>::ROW_WORDS};
}

// Pages: each lane of a warp looks up one key, and all lanes that copy words of this key get the result from it.
template <typename K> struct LookUps {
    static constexpr uint32_t STEP_KEYS = 32 / Share<K>::ROW_WORDS; // keys of a warp that follow one another
    static constexpr uint32_t WARP_KEYS = STEP_KEYS * Share<K>::WORDS;

    // The key of the tile that a thread looks up. Where a warp has fewer keys than lanes, several lanes look up the
    // same key.
    VKF_DEVICE static uint32_t keyOf(const uint32_t thread) {
        const uint32_t number = thread % 32 % WARP_KEYS;
        return thread / 32 * STEP_KEYS + number / STEP_KEYS * Share<K>::KEY_STEP + number % STEP_KEYS;
    }

    // The lane that looks up the key of the thread's word number `i`.
    VKF_DEVICE static uint32_t laneOf(const uint32_t thread, const uint32_t i) {
        return i * STEP_KEYS + thread % 32 / Share<K>::ROW_WORDS;
    }
};

} // namespace vkf::wgmma

#endif
