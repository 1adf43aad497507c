// SPDX-License-Identifier: MIT
//
// How the threads of a producer share the words of a tile. Plain functions, so tests compile them for the host.
#ifndef VKF_WGMMA_SHARE_HPP
#define VKF_WGMMA_SHARE_HPP

#include "wgmma/tile.hpp"

namespace vkf::wgmma {

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
