// SPDX-License-Identifier: MIT
//
// Masks of a partial tile of keys: sets the scores of invisible keys to -infinity.
//
// Needs: coopmat/state.glsl, coopmat/matrix_bias.glsl, masks/mask.glsl, masks/block_mask.glsl, masks/keep.glsl, SCORE.
// Provides: dropUnkept, dropClosed, dropInvisible; setSubgroupKeys, seesTile.
#ifndef VKF_MATRIX_MASKS_GLSL
#define VKF_MATRIX_MASKS_GLSL

#include "masks/range_bits.glsl"

// Sets the scores of keys that a per-key mask drops to -infinity.
void dropUnkept() {
    uvec2 place = lanePlace(lane);
    UNROLL for (uint r = 0; r < ROW_TILES; r++) {
        UNROLL for (uint slot = 0; slot < SLOTS; slot++) {
            uint packed_row = first_row + r * MATRIX_ROWS + place.x + slotRow(slot);
            RowKeep keep = rowKeep(item, queryHead(item, packed_row), queryRow(packed_row));
            UNROLL for (uint key = 0; key < KEY_TILES; key++) {
                UNROLL for (uint i = 0; i < SLOT_ELEMENTS; i++) {
                    uint e = slot * SLOT_ELEMENTS + i;
                    if (!keeps(keep, first_key + elementKey(key, e))) {
                        SCORE(r * KEY_TILES + key, e) = MINUS_INFINITY;
                    }
                }
            }
        }
    }
}

// Sets the scores of keys with a bias of -infinity to -infinity, where the bias is a mask.
void dropClosed() {
    UNROLL for (uint i = 0; i < ROW_TILES * KEY_TILES; i++) {
        UNROLL for (uint e = 0; e < ELEMENTS; e++) {
            if (fetchedBias(rowOf(i, e), elementKey(i % KEY_TILES, e)) == MINUS_INFINITY) {
                SCORE(i, e) = MINUS_INFINITY;
            }
        }
    }
}

// Whether subgroups skip products with tiles that they do not see. Under a causal mask, three of eight subgroups with 16
// rows do not see a tile on the diagonal. With 32 rows in a subgroup there are fewer, and their registers are short: the
// branches cost what they save (docs/tuning.md, "tiles that a subgroup does not see").
const bool SKIPS_UNSEEN_TILES = HAS_WINDOW && ROW_TILES == 1;

// Sets subgroup_keys: from the first key in the window of the subgroup's first row to the last key that its last row
// sees.
void setSubgroupKeys() {
    if (SKIPS_UNSEEN_TILES) {
        subgroup_keys = ivec2(windowKeys(item, queryRow(first_row)).x,
                              visibleKeys(item, queryRow(first_row + SUBGROUP_ROWS - 1)).y);
    }
}

// Whether a row of the subgroup may see a key of the tile. If not, all probabilities of the tile are 0.
bool seesTile() {
    if (!SKIPS_UNSEEN_TILES) {
        return true;
    }
    bool in_window = int(tile_begin + TILE_KEYS) > subgroup_keys.x;
    return UNIFORM_BY_VOTE(int(tile_begin) < subgroup_keys.y && (in_window || tile_begin < FIRST_KEYS));
}

// Bit i is set if key i lies in the range.
uint visibleBits(const ivec2 visible) {
    uint from_first = BITS_FROM(visible.x, max(visible.x, 0));
    uint to_last = BITS_BEFORE(visible.y);
    return from_first & to_last;
}

// Sets scores to -infinity where the key lies outside the row's visible range, or in a block that the block mask drops.
void dropInvisible() {
    uvec2 place = lanePlace(lane);
    UNROLL for (uint r = 0; r < ROW_TILES; r++) {
        uint open = BLOCKS_CROSS_TILES ? openBlocks(first_row + r * MATRIX_ROWS, tile_begin) : 0;
        UNROLL for (uint slot = 0; slot < SLOTS; slot++) {
            // The visible range, counted from the lane's first key.
            uint packed_row = first_row + r * MATRIX_ROWS + place.x + slotRow(slot);
            ivec2 visible = visibleKeys(item, queryRow(packed_row)) - int(first_key);
            uint seen = 0;
            UNROLL for (uint key = 0; key < KEY_TILES; key++) {
                const uint first = elementKey(key, 0);
                if (first % 32 == 0) {
                    seen = visibleBits(visible - int(first));
                }
                bool dropped = BLOCKS_CROSS_TILES && !isOpen(open, tile_begin, first_key + first);
                UNROLL for (uint i = 0; i < SLOT_ELEMENTS; i++) {
                    uint e = slot * SLOT_ELEMENTS + i;
                    if (dropped || LACKS_BIT(seen, elementKey(key, e) % 32)) {
                        SCORE(r * KEY_TILES + key, e) = MINUS_INFINITY;
                    }
                }
            }
        }
    }
}

#endif
