// SPDX-License-Identifier: MIT
//
// Masks of a partial tile of keys: sets the scores of invisible keys to -infinity.
//
// Needs: coopmat/globals.glsl, coopmat/matrix_bias.glsl, masks/mask.glsl, masks/block_mask.glsl, masks/per_key_masks.glsl, SCORE.
// Provides: dropMasked, dropByBias, dropInvisible; setMatrixKeys, seesTile.
#ifndef VKF_MATRIX_MASKS_GLSL
#define VKF_MATRIX_MASKS_GLSL

#include "masks/range_bits.glsl"

// Sets the scores of keys that a per-key mask drops to -infinity.
void dropMasked() {
    uvec2 place = lanePlace(lane);
    UNROLL for (uint r = 0; r < ROW_TILES; r++) {
        UNROLL for (uint fragment_row = 0; fragment_row < FRAGMENT_ROWS; fragment_row++) {
            uint packed_row = first_row + r * MATRIX_STEP + place.x + fragmentRow(fragment_row);
            RowMasks masks = rowMasks(item, queryHead(item, packed_row), queryRow(packed_row));
            UNROLL for (uint key = 0; key < KEY_TILES; key++) {
                UNROLL for (uint i = 0; i < FRAGMENT_ROW_ELEMENTS; i++) {
                    uint e = fragment_row * FRAGMENT_ROW_ELEMENTS + i;
                    if (!isUnmasked(masks, first_key + elementKey(key, e))) {
                        SCORE(r * KEY_TILES + key, e) = MINUS_INFINITY;
                    }
                }
            }
        }
    }
}

// Sets the scores of keys with a bias of -infinity to -infinity, where the bias is a mask.
void dropByBias() {
    UNROLL for (uint i = 0; i < ROW_TILES * KEY_TILES; i++) {
        UNROLL for (uint e = 0; e < ELEMENTS; e++) {
            if (fetchedBias(rowOf(i, e), elementKey(i % KEY_TILES, e)) == MINUS_INFINITY) {
                SCORE(i, e) = MINUS_INFINITY;
            }
        }
    }
}

// The number of a subgroup's matrices that skip products with tiles of which their rows see no key. Two matrices side by
// side skip none: this costs what it saves, because their registers are short (lab/log-0.4.md, "tiles that a subgroup
// does not see").
const uint SKIPPING_MATRICES = SPREADS_ROWS ? 2 : HAS_WINDOW && ROW_TILES == 1 ? 1 : 0;

// Sets matrix_keys: from the first key in the window of a matrix's first row to the last key that its last row sees.
void setMatrixKeys() {
    UNROLL for (uint r = 0; r < SKIPPING_MATRICES; r++) {
        uint row = first_row + r * MATRIX_STEP;
        matrix_keys[r] =
            ivec2(windowKeys(item, queryRow(row)).x, visibleKeys(item, queryRow(row + MATRIX_ROWS - 1)).y);
    }
}

// Whether a row of matrix r may see a key of the tile. If not, all its probabilities of the tile are 0.
bool seesTile(const uint r) {
    if (SKIPPING_MATRICES == 0) {
        return true;
    }
    bool in_window = int(tile_begin + TILE_KEYS) > matrix_keys[r].x;
    return UNIFORM_BY_VOTE(int(tile_begin) < matrix_keys[r].y && (in_window || tile_begin < FIRST_KEYS));
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
        uint open = BLOCKS_CROSS_TILES ? openBlocks(first_row + r * MATRIX_STEP, tile_begin) : 0;
        UNROLL for (uint fragment_row = 0; fragment_row < FRAGMENT_ROWS; fragment_row++) {
            // The visible range, counted from the lane's first key.
            uint packed_row = first_row + r * MATRIX_STEP + place.x + fragmentRow(fragment_row);
            ivec2 visible = visibleKeys(item, queryRow(packed_row)) - int(first_key);
            uint seen = 0;
            UNROLL for (uint key = 0; key < KEY_TILES; key++) {
                const uint first = elementKey(key, 0);
                if (first % 32 == 0) {
                    seen = visibleBits(visible - int(first));
                }
                bool dropped = BLOCKS_CROSS_TILES && !isOpen(open, tile_begin, first_key + first);
                UNROLL for (uint i = 0; i < FRAGMENT_ROW_ELEMENTS; i++) {
                    uint e = fragment_row * FRAGMENT_ROW_ELEMENTS + i;
                    if (dropped || LACKS_BIT(seen, elementKey(key, e) % 32)) {
                        SCORE(r * KEY_TILES + key, e) = MINUS_INFINITY;
                    }
                }
            }
        }
    }
}

#endif
