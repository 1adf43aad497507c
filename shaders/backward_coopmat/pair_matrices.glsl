// SPDX-License-Identifier: MIT
//
// The walk over full tiles, and the products of backward_coopmat.comp: pairs from operands that the subgroup owns, and
// sums from pairs.
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

#endif
