// SPDX-License-Identifier: MIT
//
// From the scores of a step and dout v^T to p and to the gradient of q k^T (algorithm 2, lines 11 and 14), in place.
// backward/pair_products.glsl does the same for path scalar. Score terms, masks and dropout are the code of the forward
// pass.
#ifndef VKF_MATRIX_GRADIENTS_GLSL
#define VKF_MATRIX_GRADIENTS_GLSL

#include "common/compilers.glsl"

// What dropout needs of a query row: the generator key or the mask.
RowDropout laneRowDropout(const uint lane_row, const uint index) {
    if (HAS_DROPOUT && OWNS_KEYS) {
        uvec4 words = row_dropouts[HAS_DROPOUT && OWNS_KEYS ? index : 0];
        return RowDropout(words.xy, BroadcastRow(words.xy, words.z), present.keys - 1);
    }
    return own_dropout[HAS_DROPOUT && !OWNS_KEYS ? lane_row : 0];
}

// `full`: every row of the tile sees all of its keys. In other tiles, p and ds of a dropped pair become 0.
void computeGradients(const uint step, const bool full) {
    uvec2 position = lanePosition(lane);
    uint owned = ownedFirst() + position.x;
    uint visited = step * STEP + position.y;
    uint first_key = present_key_begin + (OWNS_KEYS ? owned : visited);
    UNROLL for (uint lane_row = 0; lane_row < LANE_ROWS; lane_row++) {
        uint row_index = OWNS_KEYS ? visited + visitedStep(lane_row) : owned + ownedStep(lane_row);
        uint i = present.row_begin + row_index;
        vec2 state = own_state[OWNS_KEYS ? 0 : lane_row];
        if (OWNS_KEYS) {
            state = row_states[OWNS_KEYS ? present_rows + row_index : 0];
        }
        ivec2 visible = ivec2(0);
        uint open = 0;
        if (!full) {
            visible = visibleKeys(present, i);
            open = BLOCKS_CROSS_TILES ? openBlocks(i, present_key_begin) : 0;
        }
        RowMasks masks = rowMasks(present, present.head, i);
        RowTerms terms = rowTerms(present, present.head, slope, i, first_key);
        RowDropout dropout = laneRowDropout(lane_row, present_rows + row_index);
        bool empty = state.x == PLUS_INFINITY;
        UNROLL for (uint pair = 0; pair < LANE_ROW_PAIRS; pair++) {
            const uint matrix = VKF_PAIR_MATRIX(lane_row, pair);
            const uint e = VKF_PAIR_ELEMENT(lane_row, pair);
            const uint key_step = OWNS_KEYS ? ownedStep(pair) : visitedStep(pair);
            uint j = first_key + key_step;
            float capped = finalScore(PAIR(matrix, e));
            float p = power(withTerms(terms, key_step, capped) - state.x);
            bool dropped = false;
            if (!full) {
                bool unmasked = isUnmasked(masks, j);
                bool is_open = !BLOCKS_CROSS_TILES || isOpen(open, present_key_begin, j);
                dropped = empty || !isVisible(visible, j) || !unmasked || !is_open;
            }
            bool stays = true;
            if (HAS_DROPOUT) {
                stays = staysIn(dropout, j);
            }
            if (NEEDS_DP) {
                float dp = PAIR(SCORE_MATRICES + matrix, e);
                if (HAS_DROPOUT) {
                    dp *= CHOOSE(0.0, DROPOUT_SCALE, stays);
                }
                float ds = p * (dp - state.y);
                MULTIPLY_BY_DERIVATIVE(true, ds, terms, key_step, capped)
                if (HAS_SOFTCAP) { // the derivative of softcap tanh(x / softcap)
                    float t = capped / params.softcap;
                    ds *= fma(-t, t, 1.0);
                }
                PAIR(SCORE_MATRICES + matrix, e) = CHOOSE(ds, 0.0, dropped);
            }
            PAIR(matrix, e) = CHOOSE(p, 0.0, dropped || !stays);
        }
    }
}

// fp16 holds no larger number. A larger ds would become infinite as an operand. The factor of one rescaling is small,
// so that the other ds of the subgroup lose few bits.
#define LARGEST_F16 65504.0
#define RESCALE_FACTOR 0.0625

// The largest size of a ds of the invocation. `finite`: without infinity and NaN.
float largestGradient(const bool finite) {
    float largest = 0.0;
    UNROLL for (uint i = 0; i < SCORE_MATRICES; i++) {
        UNROLL for (uint e = 0; e < ELEMENTS; e++) {
            float x = abs(PAIR(SCORE_MATRICES + i, e));
            largest = max(largest, finite && !(x < PLUS_INFINITY) ? 0.0 : x);
        }
    }
    return largest;
}

// Makes the factor small enough for all ds of the step. An infinite one must not change it, because it would stay
// infinite. The sums change once, because NVIDIA's compiler moves each sum that passes through a loop.
void rescaleSums() {
    float largest = largestGradient(true) * ds_factor;
    float factor = 1.0;
    KEEP_LOOP while (subgroupAny(largest * factor > LARGEST_F16)) {
        factor *= RESCALE_FACTOR;
    }
    ds_factor *= factor;
    UNROLL for (uint i = 0; i < OWNED_MATRICES * DQK_COLUMNS; i++) {
        sum_matrix[FIRST_DQK_SUM + i] = sum_matrix[FIRST_DQK_SUM + i] * factor;
    }
}

// Multiplies the ds of a step by the factor, which first becomes small enough for them.
void scaleGradients() {
    if (MATRICES_ARE_BF16 || !SUMS_DQK) {
        return;
    }
    bool exceeds = subgroupAny(largestGradient(false) * ds_factor > LARGEST_F16);
    IF_AS_LOOP (exceeds) { // seldom
        rescaleSums();
        exceeds = false;
    }
    UNROLL for (uint i = 0; i < SCORE_MATRICES; i++) {
        UNROLL for (uint e = 0; e < ELEMENTS; e++) {
            PAIR(SCORE_MATRICES + i, e) *= ds_factor;
        }
    }
}

// Whether the workgroup must compute all tiles again, because a ds of a full tile exceeded the largest fp16. It made
// all sums of its row or key infinite or NaN, so one column of matrices tells. All invocations of the workgroup get the
// same result.
bool sumsOverflowed() {
    if (MATRICES_ARE_BF16 || !SUMS_DQK || full_range.x >= full_range.y) {
        return false;
    }
    bool finite = true;
    UNROLL for (uint r = 0; r < OWNED_MATRICES; r++) {
        const uint i = FIRST_DQK_SUM + r * DQK_COLUMNS;
        VKF_FOR_EACH_SUM(e, sum_matrix[i]) {
            finite = finite && abs(sum_matrix[i][e]) < PLUS_INFINITY;
        }
    }
    if (!finite) {
        VKF_SET_SHARED_FLAG(overflowed, 1u);
    }
    barrier();
    return UNIFORM_BY_VOTE(overflowed != 0);
}

// What infinity and NaN in visited rows and keys add to sums. In partial tiles they became 0
// (backward_coopmat/stage.glsl). matrix/special_values.glsl does the same for o.
//
//     dv   A special dout adds itself to the keys that its row sees.
//     dq   A special k adds NaN to the rows that see its key: its score is infinite or NaN, so that p is 0 or NaN.
//     dk   A special q adds nothing: its row has NaN in all ds, or contributes nothing.
//
// llvmpipe runs the body of a loop once more behind its end, without invocations, and loads what all of them would load
// from one address. All do if a row has one column: then the last row is loaded twice.

// Whether the row sees the key. The item has the row's head.
bool seesKey(const Item of_row, const uint row, const uint key) {
    if (!isVisible(visibleKeys(of_row, row), key)) {
        return false;
    }
    if (HAS_BLOCK_MASK) {
        Item blocks_of_row = of_row;
        blocks_of_row.row_begin = row;
        beginBlocks(blocks_of_row);
        if (!isOpen(openBlocks(row, key), key, key)) {
            return false;
        }
    }
    return isUnmasked(rowMasks(of_row, of_row.head, row), key) &&
           loadRowState(VKF_BACKWARD_TABLE.row_state, of_row, row).x != PLUS_INFINITY;
}

// What special values of dout add to four columns of dv of a key, which must be one of the sequence.
vec4 specialDv(const uint key, const uint column) {
    Item of_row = item;
    vec4 sum = vec4(0.0);
    KEEP_LOOP for (uint head = 0; head < KV_HEAD_QUERY_HEADS; head++) {
        of_row.head = of_row.kv_head * KV_HEAD_QUERY_HEADS + head;
        HalfRows rows = visited_dov;
        rows.address = add64(first_dov, strideOffset(head, params.head_stride[VKF_DOUT]));
        KEEP_LOOP for (uint row = seeing_rows.x; row < seeing_rows.y; row++) {
            uint loaded = VALUE_DIM > 1 ? row : min(row, rows.count - 1);
            vec4 x = loadRow4(halfRowAddress(rows, loaded), column, VALUE_DIM, TYPE_DOUT);
            bvec4 special = greaterThanEqual(floatBitsToUint(x) & 0x7fffffffu, uvec4(0x7f800000u));
            if (any(special) && seesKey(of_row, row, key) &&
                (!HAS_DROPOUT || staysIn(rowDropout(of_row, of_row.head, row), key))) {
                sum += mix(vec4(0.0), x, special);
            }
        }
    }
    return sum;
}

// What special values of k add to four columns of dq of a row.
vec4 specialDq(const uint row, const uint column) {
    Item of_row = item;
    ivec2 visible = visibleKeys(of_row, row);
    vec4 sum = vec4(0.0);
    KEEP_LOOP for (int key = visible.x; key < visible.y; key++) {
        uint loaded = HEAD_DIM > 1 ? uint(key) : min(uint(key), visited_qk.count - 1);
        vec4 x = loadRow4(halfRowAddress(visited_qk, loaded), column, HEAD_DIM, TYPE_K);
        bvec4 special = greaterThanEqual(floatBitsToUint(x) & 0x7fffffffu, uvec4(0x7f800000u));
        if (any(special) && seesKey(of_row, row, uint(key))) {
            sum += mix(vec4(0.0), vec4(uintBitsToFloat(0x7fc00000u)), special);
        }
    }
    return sum;
}

#endif
