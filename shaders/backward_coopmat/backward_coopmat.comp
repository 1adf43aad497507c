// SPDX-License-Identifier: MIT
//
// The backward pass on cooperative matrices, with fp16 or bf16 products and fp32 sums. The algorithm is that of
// FlashAttention-2 (Dao 2023, arXiv 2307.08691, algorithm 2), in the two kernels of backward/backward_scalar.comp,
// which share this code. Numbers in comments are its lines:
//
//      5       for each tile j of keys                         a workgroup that owns keys: beginWalk
//      7         dk_j = 0, dv_j = 0                            clearSums
//      8         for each tile i of query rows                 visitTiles
//      6, 9        load k_j, v_j, q_i, dout_i                  loadOwned, fetchStep, stageStep
//     10           s = q_i k_j^T                               multiplyPairs
//     11           p = exp(s - lse)                            computeGradients
//     12           dv_j += p^T dout_i                          addSums
//     13           dp = dout_i v_j^T                           multiplyPairs
//     14           ds = p (dp - delta)                         computeGradients
//     15           dq_i += ds k_j                              a workgroup that owns rows: addSums
//     16           dk_j += ds^T q_i                            addSums
//     18         store dk_j, dv_j                              storeSums
//
// Where the kernel deviates:
//      8   Full tiles and partial tiles have a loop each, so the loop for full tiles has no mask code.
//      9   With two stages, or one step, the next tile is in flight to registers while lines 10 to 16 use this one.
//     10   A workgroup that owns keys computes transposed scores k q^T. So p^T and ds^T are left operands of lines
//          12 and 16, and never pass through shared memory where the element layout is known.
//     14   ds enters products in 16 bits. In partial tiles, if a ds exceeds the largest fp16, the subgroup scales its
//          sums and all its ds by a power of two. In full tiles such a ds becomes infinite. It makes sums infinite or
//          NaN, and the workgroup computes all tiles again as partial ones.
//     15   No workgroup adds to the dq of another one, as in path scalar. All sums have one order. Either a workgroup
//          that owns rows recomputes ds, or one that owns keys stores it for backward_sums.comp (backward/bands.glsl).
//
// A subgroup owns OWNED_MATRICES x MATRIX_ROWS keys or rows, with their operands and sums in registers. It takes a tile
// of VISITED rows or keys in steps of STEP, so that few pairs are in registers. If the head dimension is large, two
// subgroups own the same rows or keys. Each takes half of the depth of lines 10 and 13, and half of the columns of the
// sums. They add up their pairs through shared memory (joinPairs). A subgroup holds:
//
//     k, v or q, dout     OWNED_MATRICES x QK_SLICES and DOV_SLICES matrices
//     s, dp               2 x OWNED_MATRICES x STEP_MATRICES matrices
//     p, ds               2 x OWNED_MATRICES x STEP_SLICES matrices
//     dk, dv or dq        OWNED_MATRICES x DQK_COLUMNS and DV_COLUMNS matrices
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require

#define VKF_VOTES
#include "common/compilers.glsl"
#include "shared/backward_params.h"
#define VKF_PUSH_CONSTANTS BackwardParams
#define VKF_LANES_ID VKF_ID_SUBGROUP_LANES
#include "common/params.glsl"
#include "matrix/matrix_layout.glsl"

// The tile: which subgroup owns what, in which steps it visits a tile, and which element of a matrix is which pair.
// The words "owned" and "visited" stand for rows or keys, as in backward/backward_scalar.comp.
// backward_coopmat/globals.glsl has the names of operands and sums.
//
// Matrices of pairs have what is owned as rows and what is visited as columns. All pairs of a query row share lse,
// delta, masks and score terms.

layout(constant_id = VKF_ID_OWNER) const uint OWNER = VKF_OWNS_ROWS;
layout(constant_id = VKF_ID_WRITES_DK) const bool WRITES_DK = false;
layout(constant_id = VKF_ID_WRITES_DV) const bool WRITES_DV = false;
layout(constant_id = VKF_ID_OWNED_MATRICES) const uint OWNED_MATRICES = 1;
layout(constant_id = VKF_ID_VISITED_STEPS) const uint VISITED_STEPS = 1;
layout(constant_id = VKF_ID_TWO_STAGES) const bool TWO_STAGES = false;
layout(constant_id = VKF_ID_DEPTH_SUBGROUPS) const uint DEPTH_SUBGROUPS = 1; // 1 or 2
layout(constant_id = VKF_ID_STORES_P) const bool STORES_P = false;           // it makes no sums, and stores p and ds
layout(constant_id = VKF_ID_PAIRS_BY_LANE) const bool PAIRS_BY_LANE = false; // stored_matrices.glsl
layout(constant_id = VKF_ID_WHOLE_WORDS) const bool WHOLE_WORDS = true;
layout(constant_id = VKF_ID_TYPE_DOUT) const uint TYPE_DOUT = VKF_STORED_F32;
layout(constant_id = VKF_ID_TYPE_DQ) const uint TYPE_DQ = VKF_STORED_F32;
layout(constant_id = VKF_ID_TYPE_DK) const uint TYPE_DK = VKF_STORED_F32;
layout(constant_id = VKF_ID_TYPE_DV) const uint TYPE_DV = VKF_STORED_F32;

const bool OWNS_KEYS = OWNER == VKF_OWNS_KEYS;
const bool OWNS_BIAS = false;

// What the kernel computes besides the scores: dp, and sums over what it visits.
const bool SUMS_DQK = !OWNS_KEYS || WRITES_DK; // dk or dq, of HEAD_DIM columns
const bool SUMS_DV = OWNS_KEYS && WRITES_DV;   // dv, of VALUE_DIM columns
const bool NEEDS_DP = SUMS_DQK || STORES_P;

const uint SUBGROUPS = WORKGROUP_SIZE / LANES;
const uint SUBGROUP_OWNED = OWNED_MATRICES * MATRIX_ROWS;
const uint OWNED = SUBGROUPS / DEPTH_SUBGROUPS * SUBGROUP_OWNED;

// Visited rows or keys of a step. It fills the columns of pairs and the depth of sums.
const uint STEP = VKF_MAX_WORDS(MATRIX_COLUMNS, MATRIX_DEPTH);
const uint STEP_MATRICES = STEP / MATRIX_COLUMNS; // matrices of pairs side by side
const uint STEP_SLICES = STEP / MATRIX_DEPTH;     // operands of sums side by side
const uint VISITED = VISITED_STEPS * STEP;
const uint TILE_ROWS = OWNS_KEYS ? VISITED : OWNED;
const uint TILE_KEYS = OWNS_KEYS ? OWNED : VISITED;

// Matrices of the subgroup: operands, and columns of sums.
const uint QK_SLICES = VKF_BACKWARD_SHARE(HEAD_DIM, MATRIX_DEPTH, DEPTH_SUBGROUPS);
const uint DOV_SLICES = VKF_BACKWARD_SHARE(VALUE_DIM, MATRIX_DEPTH, DEPTH_SUBGROUPS);
const uint DQK_COLUMNS = SUMS_DQK ? VKF_BACKWARD_SHARE(HEAD_DIM, MATRIX_COLUMNS, DEPTH_SUBGROUPS) : 0;
const uint DV_COLUMNS = SUMS_DV ? VKF_BACKWARD_SHARE(VALUE_DIM, MATRIX_COLUMNS, DEPTH_SUBGROUPS) : 0;

const uint SCORE_MATRICES = OWNED_MATRICES * STEP_MATRICES;            // dp begins behind them
const uint PAIR_ROWS = NEEDS_DP ? 2 * OWNED_MATRICES : OWNED_MATRICES; // rows of matrices of pairs: scores, then dp

// An invocation holds LANE_OWNED x LANE_VISITED pairs of a step. Owned rows or keys are fragment rows
// (matrix/matrix_layout.glsl), visited ones are columns.
const uint LANE_VISITED = STEP_MATRICES * FRAGMENT_ROW_ELEMENTS;
const uint LANE_OWNED = OWNED_MATRICES * FRAGMENT_ROWS;
const uint LANE_ROWS = OWNS_KEYS ? LANE_VISITED : LANE_OWNED;
const uint LANE_ROW_PAIRS = OWNS_KEYS ? LANE_OWNED : LANE_VISITED;

// The matrix of scores of a pair, and the element of that matrix.
uint matrixOf(const uint owned_index, const uint visited_index) {
    return owned_index / FRAGMENT_ROWS * STEP_MATRICES + visited_index / FRAGMENT_ROW_ELEMENTS;
}

uint elementOf(const uint owned_index, const uint visited_index) {
    return owned_index % FRAGMENT_ROWS * FRAGMENT_ROW_ELEMENTS + visited_index % FRAGMENT_ROW_ELEMENTS;
}

#define VKF_PAIR_MATRIX(lane_row, pair) (OWNS_KEYS ? matrixOf(pair, lane_row) : matrixOf(lane_row, pair))
#define VKF_PAIR_ELEMENT(lane_row, pair) (OWNS_KEYS ? elementOf(pair, lane_row) : elementOf(lane_row, pair))

// Owned rows or keys from the lane's first one to number `owned_index`, and visited ones likewise.
uint ownedStep(const uint owned_index) {
    return owned_index / FRAGMENT_ROWS * MATRIX_ROWS + fragmentRow(owned_index % FRAGMENT_ROWS);
}

uint visitedStep(const uint visited_index) {
    return visited_index / FRAGMENT_ROW_ELEMENTS * MATRIX_COLUMNS +
           elementPosition(visited_index % FRAGMENT_ROW_ELEMENTS).y;
}

uint thread, subgroup, lane;

// The first owned row or key of the subgroup in its workgroup, and the number of its share of the columns.
uint ownedFirst() {
    return subgroup / DEPTH_SUBGROUPS * SUBGROUP_OWNED;
}

uint columnShare() {
    return subgroup % DEPTH_SUBGROUPS;
}

layout(constant_id = VKF_ID_FALLBACK) const bool FALLBACK = false;
#include "common/address.glsl"
#include "common/element.glsl"
#include "common/item.glsl"
#include "masks/mask.glsl"
#include "masks/block_mask.glsl"
#include "masks/per_key_masks.glsl"
#include "softmax/stored_state.glsl"
#include "scores/units.glsl"
#include "scores/final_score.glsl"
#include "scores/score_terms.glsl"
#include "scores/dropout.glsl"
#include "backward/backward_table.glsl"
#include "backward_coopmat/globals.glsl"
#include "backward_coopmat/stage.glsl"
#ifdef VKF_VIA_SHARED
#include "backward_coopmat/pairs_via_shared.glsl"
#else
#include "backward_coopmat/pairs_in_registers.glsl"
#endif
#include "backward/walk.glsl"
#include "backward_coopmat/pair_matrices.glsl"
#define STORED_TILE_ROWS TILE_ROWS
#define STORED_TILE_KEYS TILE_KEYS
#include "backward_coopmat/stored_matrices.glsl"
#include "backward_coopmat/store_matrices.glsl"
#ifdef VKF_TILE_LISTS
#include "backward_coopmat/empty_tiles.glsl"
#endif

// Sets the rows of all tensors, for the item of the walk. If rows are visited, those of the first head.
void beginTensors() {
    HalfRows q = halfRowsOf(params.q, VKF_Q, item, SEQUENCE_ROWS(item));
    HalfRows dout = halfRowsOf(params.dout, VKF_DOUT, item, SEQUENCE_ROWS(item));
    HalfRows k = halfRowsOf(params.k, VKF_K, item, item.keys);
    HalfRows v = halfRowsOf(params.v, VKF_V, item, item.keys);
    if (OWNS_KEYS) {
        owned_qk = k;
        owned_dov = v;
        visited_qk = q;
        visited_dov = dout;
    } else {
        owned_qk = q;
        owned_dov = dout;
        visited_qk = k;
        visited_dov = v;
    }
    first_qk = visited_qk.address;
    first_dov = visited_dov.address;
}

// Sets what depends on the head of the walk's tile.
void selectHead() {
    turned = false;
    if (OWNS_KEYS) {
        uint head = item.head - item.kv_head * KV_HEAD_QUERY_HEADS;
        visited_qk.address = add64(first_qk, strideOffset(head, params.head_stride[VKF_Q]));
        visited_dov.address = add64(first_dov, strideOffset(head, params.head_stride[VKF_DOUT]));
        visited_states = rowStateAddress(VKF_BACKWARD_TABLE.row_state, item, 0);
    }
}

// Lines 10 to 16 for one step of the present tile.
void computeStep(const uint step, const bool full) {
    multiplyPairs(step); // 10, 13
    joinPairs();
    takePairs();
    computeGradients(step, full); // 11, 14
    if (!full) {
        scaleGradients();
    }
    makeOperands();
    storePairs(step);
    if (!full && SUMS > 0 && present_is_special) {
        makeStepFinite(step);
    }
    addSums(step); // 12, 15, 16
}

// The tile of the walk becomes the current one, in stage number `number`.
void selectTile(const uint number) {
    present = item;
    present_key_begin = key_begin;
    present_stage = number * STAGE_WORDS;
    present_rows = number * VISITED;
    slope = slopeOf(item.head);
    present_mask_head = mask_head;
    beginPairs();
}

// Moves the walk to its next full or partial tile, and says whether there is one: by lists of tiles, or by the ranges
// that windows leave. Macros, because chains of calls must be short (docs/kernel_rules.md, "Chains of calls").
#define VKF_SEEK_UNLISTED(found, full)                                                                                 \
    if (full) {                                                                                                        \
        found = UNIFORM_BY_VOTE(nextFullTile());                                                                       \
    } else {                                                                                                           \
        KEEP_LOOP while (!found && UNIFORM_BY_VOTE(OWNS_KEYS ? nextRowTile() : nextKeyTile())) {                       \
            found = !wasFull();                                                                                        \
            next_begin = found ? next_begin : endOfFullTiles();                                                        \
        }                                                                                                              \
    }
#define VKF_SEEK(found, full)                                                                                          \
    found = false;                                                                                                     \
    SEEK_LISTED_OR(found, full, VKF_SEEK_UNLISTED(found, full))                                                        \
    if (turned) {                                                                                                      \
        selectHead();                                                                                                  \
    }

// Whether the next tile is fetched while this tile is computed.
const bool FETCHES_AHEAD = TWO_STAGES || VISITED_STEPS == 1;

// Full tiles end at the first one with an empty row.
#define VKF_STOP_AT_EMPTY(more, number, full)                                                                          \
    if (full && OWNS_KEYS) {                                                                                           \
        more = more && UNIFORM_BY_VOTE(last_empty[number] != tile_number);                                             \
    }

// Fetches the walk's tile.
#define VKF_FETCH_TILE                                                                                                 \
    UNROLL for (uint step = 0; step < VISITED_STEPS; step++) {                                                         \
        fetchStep(step);                                                                                               \
    }                                                                                                                  \
    fetchStates();

// Stores what was fetched to stage number `number`.
#define VKF_STAGE_TILE(number, full)                                                                                   \
    stageStates(number);                                                                                               \
    UNROLL for (uint step = 0; step < VISITED_STEPS; step++) {                                                         \
        stageStep(number, step, full);                                                                                 \
    }

// Lines 10 to 16 for the present tile. The steps of a full tile are unrolled, and few steps of a partial one: sums that
// pass through two loops cost NVIDIA's compiler a move of each sum in every tile. With four unrolled partial steps,
// sums are in memory.
const bool UNROLLS_PARTIAL_TILES = VISITED_STEPS <= 2;
#define VKF_COMPUTE_TILE(full)                                                                                         \
    if (full || UNROLLS_PARTIAL_TILES) {                                                                               \
        UNROLL for (uint step = 0; step < VISITED_STEPS; step++) {                                                     \
            computeStep(step, full);                                                                                   \
        }                                                                                                              \
    } else {                                                                                                           \
        KEEP_LOOP for (uint step = 0; step < VISITED_STEPS; step++) {                                                  \
            computeStep(step, full);                                                                                   \
        }                                                                                                              \
    }

// Lines 8 to 16 for the full or the partial tiles of the walk. The loop has a single exit: with a second exit,
// NVIDIA's compiler stores sums to memory in every iteration.
void visitTiles(const bool full) {
    bool more;
    VKF_SEEK(more, full)
    if (!more) {
        return;
    }
    tile_number++;
    VKF_FETCH_TILE
    VKF_STAGE_TILE(0, full)
    barrier();
    uint number = 0; // of the stage
    VKF_STOP_AT_EMPTY(more, number, full)
    KEEP_LOOP while (more) {
        selectTile(number);
        if (!full && OWNS_KEYS && UNIFORM_BY_VOTE(last_empty[number] == tile_number)) {
            zeroEmptyRows(number);
            barrier();
        }
        present_is_special = !full && SUMS > 0 && UNIFORM_BY_VOTE(last_special[number] == tile_number);
        special_values = special_values || present_is_special;
        VKF_SEEK(more, full)
        uint next = TWO_STAGES ? 1 - number : 0;
        if (more) {
            tile_number++;
        }
        uvec2 walk_mask_head = mask_head;
        mask_head = present_mask_head;
        IF_KEEPING_LOADS_HERE (FETCHES_AHEAD && more) {
            VKF_FETCH_TILE // 9
        } else {
            forgetTile();
        }
        VKF_COMPUTE_TILE(full)
        mask_head = walk_mask_head;
        if (TWO_STAGES && more) {
            VKF_STAGE_TILE(next, full) // 9
        }
        barrier(); // the readers of the present tile are done
        if (!TWO_STAGES && more) {
            UNROLL for (uint step = 0; step < (FETCHES_AHEAD ? 0 : VISITED_STEPS); step++) {
                fetchStep(step); // 9
            }
            if (!FETCHES_AHEAD) {
                fetchStates();
            }
            VKF_STAGE_TILE(0, full)
            barrier();
        }
        number = next;
        VKF_STOP_AT_EMPTY(more, number, full)
    }
    if (full) {
        stopFullTiles();
    }
}

void main() {
    thread = threadIndex();
    subgroup = thread / LANES;
    lane = thread % LANES;
    uint number = params.first_item + gl_WorkGroupID.x;
    if (FALLBACK && UNIFORM_BY_VOTE(VKF_BACKWARD_TABLE.wants_fallback == 0)) {
        return;
    }
    if (!UNIFORM_BY_VOTE(beginWalk(number))) { // 5
        return;
    }
    beginBand();
    beginTensors();
    loadOwned(); // 6
    if (!OWNS_KEYS) {
        loadOwnedRows();
    }
    beginSums();
    clearSums(); // 7
    barrier();
    beginStages();
    barrier();
    beginFullTiles();
    if (!ALL_PARTIAL) {
        visitTiles(true); // 8 to 16
        barrier();        // all have seen last_empty of the tile at which this walk stopped; it is staged again
    }
    bool again = true;
    KEEP_LOOP while (again) {
        rewindWalk();
        visitTiles(false);
        again = sumsOverflowed();
        if (again) {
            clearSums();
            full_range = uvec2(0);
            LEAVE_ALL_LISTED_TILES
        }
    }
    STORE_EMPTY_TILES
    askForFallback(ds_factor != 1.0);
    storeSums(); // 18
}
