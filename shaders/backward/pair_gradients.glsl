// SPDX-License-Identifier: MIT
//
// From the scores of a tile and dout v^T to p and to the gradient of q k^T (algorithm 2, lines 11 and 14). Score terms,
// masks and dropout are the code of the forward pass, so that each pair has its score and its visibility.
//
// Needs: backward/pair_tile.glsl, backward/pair_products.glsl, backward/backward_table.glsl, scores/final_score.glsl,
// scores/score_terms.glsl, scores/dropout.glsl, masks/mask.glsl, masks/block_mask.glsl, masks/per_key_masks.glsl,
// scalar/row_state.glsl. Provides: item, key_begin, slope, hasEmptyRow, beginEmptyRows, loadRows, computeGradients.
#ifndef VKF_PAIR_GRADIENTS_GLSL
#define VKF_PAIR_GRADIENTS_GLSL

#include "common/marks.glsl"

Item item;
uint key_begin; // first key of the tile
float slope;    // of the item's head

vec2 row_state[THREAD_ROWS]; // of backward_rows.comp; PLUS_INFINITY for rows that do not exist too
RowDropout row_dropout[HAS_DROPOUT ? THREAD_ROWS : 1];

// Number of the rows that were loaded last, and number of the rows that were the last ones with an empty row. Two
// loads of rows are further apart than a barrier.
uint loads = 0;
shared uint last_empty;

// The first barrier after it must come before the first load.
void beginEmptyRows() {
    if (thread == 0) {
        last_empty = 0;
    }
    barrier();
}

// Whether some row of the tile gives and takes nothing, or does not exist. A barrier must lie between loadRows and this
// function.
bool hasEmptyRow() {
    return last_empty == loads;
}

uint rowOfTile(const uint row) {
    return OWNS_KEYS ? visitedPlace(row) : ownedPlace(row);
}

// Loads the state of the rows of the item's tile.
void loadRows() {
    loads++;
    uvec2 states = VKF_BACKWARD_TABLE.row_state;
    UNROLL for (uint row = 0; row < THREAD_ROWS; row++) {
        uint i = item.row_begin + rowOfTile(row);
        row_state[row] = vec2(PLUS_INFINITY, 0.0);
        if (i < SEQUENCE_ROWS(item)) {
            row_state[row] = loadRowState(states, item, i);
        }
        if (row_state[row].x == PLUS_INFINITY) {
            VKF_MARK_SHARED(last_empty, loads);
        }
        if (HAS_DROPOUT) {
            row_dropout[HAS_DROPOUT ? row : 0] = rowDropout(item, item.head, i);
        }
    }
}

// The pairs of one row in this invocation. `partial`: masks test each pair, and a dropped pair becomes DROPPED_PAIR.
void computeRow(const uint row, const bool partial) {
    uint i = item.row_begin + rowOfTile(row);
    uint first_key = key_begin + (OWNS_KEYS ? group : lane);
    const uint step = OWNS_KEYS ? GROUPS : LANES;
    ivec2 visible = visibleKeys(item, i);
    uint open = partial && BLOCKS_CROSS_TILES ? openBlocks(i, key_begin) : 0;
    RowMasks masks = rowMasks(item, item.head, i);
    RowTerms terms = rowTerms(item, item.head, slope, i, first_key);
    bool empty = row_state[row].x == PLUS_INFINITY;
    UNROLL for (uint key = 0; key < THREAD_KEYS; key++) {
        uint at = OWNS_KEYS ? key * THREAD_VISITED + row : row * THREAD_VISITED + key;
        uint j = first_key + key * step;
        float capped = finalScore(pairs[FIRST_SCORE + at]);
        float p = power(withTerms(terms, key * step, capped) - row_state[row].x);
        bool stays = !HAS_DROPOUT || staysIn(row_dropout[HAS_DROPOUT ? row : 0], j);
        bool seen = !empty && isVisible(visible, j) && isUnmasked(masks, j) &&
                    (!BLOCKS_CROSS_TILES || isOpen(open, key_begin, j));
        bool dropped = partial && !seen;
        if (NEEDS_DP) {
            float dp = pairs[FIRST_DP + at];
            if (HAS_DROPOUT) {
                dp *= stays ? DROPOUT_SCALE : 0.0;
            }
            float ds = p * (dp - row_state[row].y);
            if (HAS_SOFTCAP && !OWNS_BIAS) { // the derivative of softcap tanh(x / softcap)
                float t = capped / params.softcap;
                ds *= fma(-t, t, 1.0);
            }
            pairs[FIRST_DP + at] = dropped ? DROPPED_PAIR : ds;
        }
        pairs[FIRST_SCORE + at] = dropped ? DROPPED_PAIR : (stays ? p : 0.0);
    }
}

// Turns the scores and dp of the tile into p and the gradient of q k^T without the scale.
void computeGradients(const bool partial) {
    UNROLL for (uint row = 0; row < THREAD_ROWS; row++) {
        computeRow(row, partial);
    }
}

#endif
