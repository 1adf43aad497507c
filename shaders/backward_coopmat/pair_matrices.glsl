// SPDX-License-Identifier: MIT
//
// The walk over full tiles, and lines 10 to 16 of the algorithm (backward_coopmat.comp) for one step of a tile. The
// products make pairs from operands that the subgroup owns, and sums from pairs. In between, scores and dout v^T become
// p and the gradient of q k^T.
#ifndef VKF_PAIR_MATRICES_GLSL
#define VKF_PAIR_MATRICES_GLSL

// The full tiles of the walk: all rows of the tile see all of its keys. They lie side by side, so the walk steps from
// one to the next without a look at windows. It takes them first. An empty row makes its tile a partial one. The walk
// notices that when the tile is in shared memory, and leaves this tile and all later ones to the walk over partial
// tiles.

// No tile is full then: masks test each pair, or rows are not whole words. With a loop for full tiles, NVIDIA's
// compiler loses all sums of some kernels for such rows (docs/portability.md).
const bool ALL_PARTIAL = AND_NO_TILE_MAP(BLOCKS_CROSS_TILES || HAS_PER_KEY_MASKS) || !WHOLE_WORDS;

// Rows or keys [x, y) of the full tiles of a head. A block mask may close some of these tiles.
uvec2 full_range;

// The tile of rows of full_range at which the walk over full tiles stopped: its head and first row. With lists,
// list_stop_head and list_stop_position say the same (backward/listed_walk.glsl).
uint range_stop_head, range_stop_begin;

#include "backward/full_tiles.glsl"

// Sets the walk before its first full tile.
void beginFullTiles() {
    full_range = ALL_PARTIAL ? uvec2(0) : OWNS_KEYS ? fullRows() : fullKeys();
    next_begin = full_range.x;
    range_stop_head = 0xffffffffu;
    range_stop_begin = 0;
    OPEN_FULL_TILES
}

// Leaves the walk's tile and all later ones to the walk over partial tiles.
void stopFullTiles() {
    if (OWNS_KEYS) {
        range_stop_head = item.head;
        range_stop_begin = item.row_begin;
    }
    STOP_LISTED_TILES
}

// One past the last row or key of the walk's head that the walk over full tiles took.
uint endOfFullTiles() {
    return item.head < range_stop_head    ? full_range.y
           : item.head == range_stop_head ? min(range_stop_begin, full_range.y)
                                          : 0;
}

bool wasFull() {
    return VKF_VISITED_BEGIN >= full_range.x && VKF_VISITED_BEGIN < endOfFullTiles();
}

// Moves the walk to its next full tile, open or closed.
bool stepToFullTile() {
    if (OWNS_KEYS && KV_HEAD_QUERY_HEADS > 1 && next_begin >= full_range.y && item.head + 1 < end_head) {
        item.head++;
        turned = true;
        next_begin = full_range.x;
    }
    bool found = next_begin < full_range.y;
    if (OWNS_KEYS) {
        item.row_begin = next_begin;
    } else {
        key_begin = next_begin;
    }
    next_begin += VISITED;
    return found;
}

// Moves the walk to its next full tile. Returns false behind the last one. All invocations of the workgroup get the
// same result.
bool nextFullTile() {
    bool found = false;
    if (!HAS_BLOCK_MASK) {
        found = stepToFullTile();
    }
    KEEP_LOOP while (HAS_BLOCK_MASK && !found && stepToFullTile()) {
        found = OWNS_KEYS ? isSeen() : openTile(key_begin / VISITED, key_begin / VISITED + 1) * VISITED == key_begin;
    }
    return found;
}

const uint DP_SLICES = NEEDS_DP ? DOV_SLICES : 0;

// Lines 10 and 13: scores and dp of a step. The two take turns, so that consecutive products do not depend on each
// other.
void multiplyPairs(const uint step) {
    UNROLL for (uint i = 0; i < 2 * SCORE_MATRICES; i++) {
        pair_matrix[i] = ResultMatrix(0.0);
    }
    uint qk = present_stage + step * STEP * QK_ROW + columnShare() * QK_SLICES * SLICE_WORDS;
    uint dov = present_stage + STAGE_DOV + step * STEP * DOV_ROW + columnShare() * DOV_SLICES * SLICE_WORDS;
    UNROLL for (uint d = 0; d < VKF_MAX_WORDS(QK_SLICES, DP_SLICES); d++) {
        UNROLL for (uint t = 0; t < STEP_MATRICES; t++) {
            RightMatrix visited;
            if (d < QK_SLICES) {
                coopMatLoad(visited, stage, qk + t * MATRIX_COLUMNS * QK_ROW + d * SLICE_WORDS, QK_ROW,
                            gl_CooperativeMatrixLayoutColumnMajor);
                UNROLL for (uint r = 0; r < OWNED_MATRICES; r++) {
                    const uint i = r * STEP_MATRICES + t;
                    pair_matrix[i] = coopMatMulAdd(qk_matrix[r * QK_SLICES + d], visited, pair_matrix[i]);
                }
            }
            if (d < DP_SLICES) {
                coopMatLoad(visited, stage, dov + t * MATRIX_COLUMNS * DOV_ROW + d * SLICE_WORDS, DOV_ROW,
                            gl_CooperativeMatrixLayoutColumnMajor);
                UNROLL for (uint r = 0; r < OWNED_MATRICES; r++) {
                    const uint i = SCORE_MATRICES + r * STEP_MATRICES + t;
                    pair_matrix[i] = coopMatMulAdd(dov_matrix[r * DOV_SLICES + d], visited, pair_matrix[i]);
                }
            }
        }
    }
}

// Adds the pairs of the two subgroups that divide the depth. Both get the same bits.
void joinPairs() {
    if (DEPTH_SUBGROUPS == 1) {
        return;
    }
    const uint matrices = NEEDS_DP ? 2 * SCORE_MATRICES : SCORE_MATRICES;
    if (VISITED_STEPS > 1) {
        barrier(); // the readers of the last step are done
    }
    UNROLL for (uint i = 0; i < matrices; i++) {
        coopMatStore(pair_matrix[i], join_stage, (subgroup * matrices + i) * JOIN_WORDS, JOIN_ROW,
                     gl_CooperativeMatrixLayoutRowMajor);
    }
    barrier();
    UNROLL for (uint i = 0; i < matrices; i++) {
        ResultMatrix other;
        coopMatLoad(other, join_stage, ((subgroup ^ 1) * matrices + i) * JOIN_WORDS, JOIN_ROW,
                    gl_CooperativeMatrixLayoutRowMajor);
        pair_matrix[i] += other;
    }
}

// Lines 12, 15 and 16: sums[first...] += operands of a row of matrices from `operands` on, times visited rows or keys.
#define VKF_ADD_SUMS(first, columns, operands, begin, row_words)                                                       \
    UNROLL for (uint slice = 0; slice < STEP_SLICES; slice++) {                                                        \
        UNROLL for (uint c = 0; c < (columns); c++) {                                                                  \
            RightMatrix visited;                                                                                       \
            coopMatLoad(visited, stage, (begin) + slice * MATRIX_DEPTH * (row_words) + c * COLUMN_WORDS, row_words,    \
                        gl_CooperativeMatrixLayoutRowMajor);                                                           \
            UNROLL for (uint r = 0; r < OWNED_MATRICES; r++) {                                                         \
                const uint i = (first) + r * (columns) + c;                                                            \
                sum_matrix[i] =                                                                                        \
                    coopMatMulAdd(operand_matrix[((operands) + r) * STEP_SLICES + slice], visited, sum_matrix[i]);     \
            }                                                                                                          \
        }                                                                                                              \
    }

void addSums(const uint step) {
    uint qk = present_stage + step * STEP * QK_ROW + columnShare() * DQK_COLUMNS * COLUMN_WORDS;
    uint dov = present_stage + STAGE_DOV + step * STEP * DOV_ROW + columnShare() * DV_COLUMNS * COLUMN_WORDS;
    VKF_ADD_SUMS(0, DV_COLUMNS, 0, dov, DOV_ROW)
    VKF_ADD_SUMS(FIRST_DQK_SUM, DQK_COLUMNS, OWNED_MATRICES, qk, QK_ROW)
}

// From the scores of a step and dout v^T to p and to the gradient of q k^T (lines 11 and 14), in place.
// backward/pair_products.glsl does the same for path scalar. Score terms, masks and dropout are the code of the forward
// pass.

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
