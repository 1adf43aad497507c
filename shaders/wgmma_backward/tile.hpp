// SPDX-License-Identifier: MIT
//
// The sizes of the kernels of the backward pass, and their places in shared memory and in the named barriers.
#ifndef VKF_WGMMA_BACKWARD_TILE_HPP
#define VKF_WGMMA_BACKWARD_TILE_HPP

#include "wgmma/tile.hpp"

namespace vkf::wgmma {

// A workgroup owns keys and visits tiles of rows, or owns rows and visits tiles of keys. A slot of shared memory has a
// tile of one tensor. Columns lie in panels of 64, each with a line of 128 bytes for each row or key.
template <uint32_t PADDED_DIM, bool IS_BF16, bool HAS_TERMS, bool OWNER_OF_KEYS> struct BackwardKernel {
    static constexpr uint32_t DIM = PADDED_DIM;
    static constexpr bool BF16 = IS_BF16;
    static constexpr bool TERMS = HAS_TERMS; // scores have a softcap or ALiBi
    static constexpr bool OWNS_KEYS = OWNER_OF_KEYS;
    static constexpr uint32_t CONSUMERS = VKF_TRY_CONSUMERS;
    static constexpr uint32_t OWNED = 64 * CONSUMERS; // rows or keys of a workgroup
    static constexpr uint32_t KEYS = VKF_TRY_VISITED; // keys, or rows, of a tile that is visited
    static constexpr bool DEFERS = VKF_TRY_DEFERS;
    static constexpr uint32_t THREADS = WARPGROUP * (1 + CONSUMERS);
    static constexpr uint32_t PANEL_BYTES = KEYS * 128;
    static constexpr uint32_t SLOT_BYTES = PANEL_BYTES * (DIM / 64);
    // A ring of row states, where rows are visited. The slots hold tiles of at most three steps of the walk at once.
    static constexpr uint32_t STATE_TILES = OWNS_KEYS ? 4 : 0;
    static constexpr uint32_t STATE_BYTES = KEYS * 8;
    static constexpr uint32_t SLOTS =
        min((49152 - STATE_TILES * STATE_BYTES) / SLOT_BYTES, uint32_t{16} / (CONSUMERS + 1));
    static constexpr uint32_t FIRST_STATE = SLOTS * SLOT_BYTES;
    static constexpr uint32_t SHARED_BYTES = FIRST_STATE + STATE_TILES * STATE_BYTES;
    static_assert(SHARED_BYTES <= 49152 && SLOTS >= (DEFERS && OWNS_KEYS ? 4 : 3));

    static constexpr uint32_t PRODUCER_REGISTERS = CONSUMERS == 3 ? 32 : 24;
    static constexpr uint32_t CONSUMER_REGISTERS = CONSUMERS == 3 ? 160 : 240;

    // Named barriers: as those of the forward kernel.
    static constexpr uint32_t full(const uint32_t slot, const uint32_t consumer) { return slot * CONSUMERS + consumer; }
    static constexpr uint32_t empty(const uint32_t slot) { return SLOTS * CONSUMERS + slot; }
    static constexpr uint32_t FULL_THREADS = 2 * WARPGROUP;
    static constexpr uint32_t EMPTY_THREADS = THREADS;
};

} // namespace vkf::wgmma

#endif
