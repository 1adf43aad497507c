// SPDX-License-Identifier: MIT
//
// Line 9 of the algorithm (attention_coopmat.comp): masks of a partial tile, which set the scores of invisible keys to
// -infinity; the running maximum m; the factors of lines 9 and 10.
//
// In the paper m moves in each tile. Here m moves only when a score exceeds it by more than RESCALE_THRESHOLD. So
// nearly all tiles leave o unchanged, and o takes most of the registers.
#ifndef VKF_COOPMAT_SOFTMAX_GLSL
#define VKF_COOPMAT_SOFTMAX_GLSL

#include "masks/mask.glsl"

// Sets the scores of keys that a per-key mask drops to -infinity.
void dropMasked() {
    uvec2 position = lanePosition(lane);
    UNROLL for (uint r = 0; r < ROW_MATRICES; r++) {
        UNROLL for (uint fragment_row = 0; fragment_row < FRAGMENT_ROWS; fragment_row++) {
            uint packed_row = first_row + r * MATRIX_STRIDE + position.x + fragmentRow(fragment_row);
            RowMasks masks = rowMasks(item, queryHead(item, packed_row), queryRow(packed_row));
            UNROLL for (uint key = 0; key < KEY_MATRICES; key++) {
                UNROLL for (uint i = 0; i < FRAGMENT_ROW_ELEMENTS; i++) {
                    uint e = fragment_row * FRAGMENT_ROW_ELEMENTS + i;
                    if (!isUnmasked(masks, first_key + elementKey(key, e))) {
                        SCORE(r * KEY_MATRICES + key, e) = MINUS_INFINITY;
                    }
                }
            }
        }
    }
}

// With lists of chosen keys: sets scores to -infinity where the entry is no key, or where the row does not see the key.
void dropUnlisted() {
    uvec2 position = lanePosition(lane);
    UNROLL for (uint r = 0; r < ROW_MATRICES; r++) {
        UNROLL for (uint fragment_row = 0; fragment_row < FRAGMENT_ROWS; fragment_row++) {
            uint packed_row = first_row + r * MATRIX_STRIDE + position.x + fragmentRow(fragment_row);
            ivec2 visible = visibleKeys(item, queryRow(packed_row));
            RowMasks masks = rowMasks(item, queryHead(item, packed_row), queryRow(packed_row));
            UNROLL for (uint key = 0; key < KEY_MATRICES; key++) {
                UNROLL for (uint i = 0; i < FRAGMENT_ROW_ELEMENTS; i++) {
                    uint e = fragment_row * FRAGMENT_ROW_ELEMENTS + i;
                    uint index = elementKey(key, e);
                    uint listed = scoreKey(index);
                    bool seen = lane_entries[HAS_CHOSEN_KEYS ? index : 0] == listed && isVisible(visible, listed) &&
                                isUnmasked(masks, listed);
                    if (!seen) {
                        SCORE(r * KEY_MATRICES + key, e) = MINUS_INFINITY;
                    }
                }
            }
        }
    }
}

// Sets the scores of keys with a bias of -infinity to -infinity, where the bias is a mask.
void dropByBias() {
    UNROLL for (uint i = 0; i < ROW_MATRICES * KEY_MATRICES; i++) {
        UNROLL for (uint e = 0; e < ELEMENTS; e++) {
            if (fetchedBias(rowOf(i, e), elementKey(i % KEY_MATRICES, e)) == MINUS_INFINITY) {
                SCORE(i, e) = MINUS_INFINITY;
            }
        }
    }
}

// The number of a subgroup's matrices that skip products with tiles of which their rows see no key. Two matrices side
// by side skip none: this costs what it saves, because their registers are short (lab/log-0.4.md, "tiles that a
// subgroup does not see").
const uint SKIPPING_MATRICES = HAS_CHOSEN_KEYS ? 0 : SPREADS_ROWS ? 2 : HAS_WINDOW && ROW_MATRICES == 1 ? 1 : 0;

// Sets matrix_keys: from the first key in the window of a matrix's first row to the last key that its last row sees.
void setMatrixKeys() {
    UNROLL for (uint r = 0; r < SKIPPING_MATRICES; r++) {
        uint row = first_row + r * MATRIX_STRIDE;
        matrix_keys[r] = ivec2(windowKeys(item, queryRow(row)).x, visibleKeys(item, queryRow(row + MATRIX_ROWS - 1)).y);
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

// Sets present_keys.
void findPresentKeys() {
    UNROLL for (uint word = 0; word < (LANE_KEYS + 31) / 32; word++) {
        present_keys[word] = 0xffffffffu;
    }
    if (some_absent) {
        UNROLL for (uint i = 0; i < (HAS_PAGES ? LANE_KEYS : 0); i++) {
            present_keys[i / 32] &= mayBeSeen(item, first_key + i) ? 0xffffffffu : ~(1u << i % 32);
        }
    }
}

// Sets scores to -infinity where the key lies outside the row's visible range, in a block that the block mask drops, or
// in no page.
void dropInvisible() {
    uvec2 position = lanePosition(lane);
    UNROLL for (uint r = 0; r < ROW_MATRICES; r++) {
        uint open = BLOCKS_CROSS_TILES ? openBlocks(first_row + r * MATRIX_STRIDE, tile_begin) : 0;
        UNROLL for (uint fragment_row = 0; fragment_row < FRAGMENT_ROWS; fragment_row++) {
            // The visible range, counted from the lane's first key.
            uint packed_row = first_row + r * MATRIX_STRIDE + position.x + fragmentRow(fragment_row);
            ivec2 visible = visibleKeys(item, queryRow(packed_row)) - int(first_key);
            uint seen = 0;
            UNROLL for (uint key = 0; key < KEY_MATRICES; key++) {
                const uint first = elementKey(key, 0);
                if (first % 32 == 0) {
                    seen = visibleBits(visible - int(first)) & present_keys[first / 32];
                }
                bool dropped = BLOCKS_CROSS_TILES && !isOpen(open, tile_begin, first_key + first);
                UNROLL for (uint i = 0; i < FRAGMENT_ROW_ELEMENTS; i++) {
                    uint e = fragment_row * FRAGMENT_ROW_ELEMENTS + i;
                    if (dropped || LACKS_BIT(seen, elementKey(key, e) % 32)) {
                        SCORE(r * KEY_MATRICES + key, e) = MINUS_INFINITY;
                    }
                }
            }
        }
    }
}

// Sets the tile maximum of each row, in the unit of scores, over this invocation's scores. The exponent grows with the
// score, so without ALiBi only the largest score has to be finished.
void findTileMaximum() {
    UNROLL for (uint row = 0; row < OWN_ROWS; row++) {
        float x = ROW_SCORE(row, 0);
        if (HAS_ALIBI) {
            x = exponent(x, 0.0, row, 0);
        }
        UNROLL for (uint i = 1; i < LANE_KEYS; i++) {
            x = max(x, HAS_ALIBI ? exponent(ROW_SCORE(row, i), 0.0, row, i) : ROW_SCORE(row, i));
        }
        tile_maximum[row] = HAS_ALIBI ? x : exponent(x, 0.0, row, 0);
    }
}

// Whether a score of any invocation of the subgroup exceeds its m by more than the threshold.
bool exceedsThreshold() {
    bool grown = false;
    UNROLL for (uint row = 0; row < OWN_ROWS; row++) {
        grown = grown || tile_maximum[row] > m_row[row] + rescaleThreshold();
    }
    return subgroupAny(grown);
}

// Raises m to the rows' maxima, rounded up to whole numbers of log2, and scales l and o to the new m. Whole numbers
// make all factors powers of two. So neither a factor nor an m below the running maximum changes how p is rounded to 16
// bits.
void rescale() {
    UNROLL for (uint r = 0; r < ROW_MATRICES; r++) {
        UNROLL for (uint fragment_row = 0; fragment_row < FRAGMENT_ROWS; fragment_row++) {
            uint i = r * FRAGMENT_ROWS + fragment_row;
            // A comparison with a NaN is false, so m ignores it. The result of its row is lost, but the loop that calls
            // this must end.
            float reached = tile_maximum[i] > m_row[i] ? tile_maximum[i] : m_row[i];
            float m = wholeUnits(maxOverColumns(reached));
            float factor = rescaleFactor(m_row[i], m);
            m_row[i] = m;
            l_row[i] *= factor;
            row_factor[fragment_row] = factor;
        }
        makeFactors();
        UNROLL for (uint c = 0; c < VALUE_MATRICES; c++) {
            o_matrix[r * VALUE_MATRICES + c] *= factors;
        }
    }
}

#endif
