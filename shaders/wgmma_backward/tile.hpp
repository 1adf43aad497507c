// SPDX-License-Identifier: MIT
//
// The kernels of the backward pass: their sizes, and their places in shared memory and
// in the named barriers. The build sets these macros for each PTX text (shared/wgmma_params.h):
//
//     VKF_ENTRY              name of the entry point
//     VKF_TYPE               f16 or bf16
//     VKF_DIM                64 or 128: head and value dimension, padded
//     VKF_SOFTCAP_OR_ALIBI   defined if scores have a softcap or ALiBi
#ifndef VKF_WGMMA_BACKWARD_TILE_HPP
#define VKF_WGMMA_BACKWARD_TILE_HPP

#include "wgmma/instructions.hpp"
#include "wgmma/tile.hpp"

namespace vkf::wgmma {

constexpr shared::WgmmaTile backwardTileOf(const bool owns_keys, const uint32_t dim) {
    for (const shared::WgmmaTile & tile :
         owns_keys ? shared::WGMMA_BACKWARD_KEY_TILES : shared::WGMMA_BACKWARD_ROW_TILES) {
        if (tile.dim == dim) {
            return tile;
        }
    }
    return {};
}

// A workgroup owns keys and visits tiles of rows, or owns rows and visits tiles of keys. A slot of shared memory has a
// tile of one tensor. Columns lie in panels of 64, each with a line of 128 bytes for each row or key.
template <uint32_t PADDED_DIM, bool IS_BF16, bool HAS_SOFTCAP_OR_ALIBI, bool OWNER_OF_KEYS> struct BackwardKernel {
    static constexpr uint32_t DIM = PADDED_DIM;
    static constexpr bool BF16 = IS_BF16;
    static constexpr bool SOFTCAP_OR_ALIBI = HAS_SOFTCAP_OR_ALIBI; // entry points named "_terms"
    static constexpr bool OWNS_KEYS = OWNER_OF_KEYS;
    static constexpr shared::WgmmaTile TILE = backwardTileOf(OWNS_KEYS, DIM);
    static constexpr uint32_t OWNED = OWNS_KEYS ? TILE.keys : TILE.rows; // rows or keys of a workgroup
    static constexpr uint32_t KEYS = OWNS_KEYS ? TILE.rows : TILE.keys;  // keys, or rows, of a tile that is visited
    static constexpr uint32_t THREADS = TILE.threads;
    static constexpr uint32_t CONSUMERS = OWNED / 64;
    static_assert(THREADS == WARPGROUP * (1 + CONSUMERS));

    // Whether the last products of a tile run while the first ones of the next tile start.
    static constexpr bool DEFERS = OWNS_KEYS && DIM == 64 && !SOFTCAP_OR_ALIBI;
    // Whether dv += p^T dout starts before ds is there. It costs the registers of p.
    static constexpr bool STARTS_DV_EARLY = false;
    static constexpr uint32_t PANEL_BYTES = KEYS * 128;
    static constexpr uint32_t SLOT_BYTES = PANEL_BYTES * (DIM / 64);
    // A ring of row states, where rows are visited. The slots hold tiles of at most three steps of the walk at once.
    static constexpr uint32_t STATE_TILES = OWNS_KEYS ? 4 : 0;
    static constexpr uint32_t STATE_BYTES = KEYS * 8;
    // Owners of keys: so many of the left operands of v, each of depth 16, lie in shared memory, because registers are
    // short. A consumer's operands lie together.
    static constexpr uint32_t SHARED_OPERANDS = OWNS_KEYS && DIM == 128 && !SOFTCAP_OR_ALIBI ? 3 : 0;
    static constexpr uint32_t OPERAND_BYTES = SHARED_OPERANDS * LEFT_OPERAND_BYTES; // of a consumer
    static constexpr uint32_t SLOTS =
        (TILE.shared_bytes - STATE_TILES * STATE_BYTES - CONSUMERS * OPERAND_BYTES) / SLOT_BYTES;
    static constexpr uint32_t FIRST_STATE = SLOTS * SLOT_BYTES;
    static constexpr uint32_t FIRST_OPERAND = FIRST_STATE + STATE_TILES * STATE_BYTES;
    static_assert(FIRST_OPERAND + CONSUMERS * OPERAND_BYTES <= TILE.shared_bytes);
    static_assert(SLOTS >= (DEFERS && OWNS_KEYS ? 4 : 3)); // fewer would wait for each other

    static constexpr uint32_t PRODUCER_REGISTERS = CONSUMERS == 3 ? 32 : 24;
    static constexpr uint32_t CONSUMER_REGISTERS = CONSUMERS == 3 ? 160 : 240;

    // Named barriers: as those of the forward kernel.
    static constexpr uint32_t full(const uint32_t slot, const uint32_t consumer) {
        return slot * CONSUMERS + consumer;
    }
    static constexpr uint32_t empty(const uint32_t slot) {
        return SLOTS * CONSUMERS + slot;
    }
    static constexpr uint32_t ownOperands(const uint32_t consumer) {
        return SLOTS * (CONSUMERS + 1) + consumer;
    }
    static_assert(ownOperands(SHARED_OPERANDS == 0 ? 0 : CONSUMERS) <= 16);
    static constexpr uint32_t FULL_THREADS = 2 * WARPGROUP;
    static constexpr uint32_t EMPTY_THREADS = THREADS;
};

#ifdef VKF_SOFTCAP_OR_ALIBI
constexpr bool HAS_SOFTCAP_OR_ALIBI = true;
#else
constexpr bool HAS_SOFTCAP_OR_ALIBI = false;
#endif

} // namespace vkf::wgmma

#endif
