// SPDX-License-Identifier: MIT
//
// The operands and the products of the backward pass, as one invocation sees them.
//
// Operands move from device memory to shared memory as in scalar/stage.glsl: a fetch loads a complete piece into
// registers, a second step writes it to shared memory. A piece that is not complete is loaded when it is staged.
//
//     owned_stage    OWNED x (4 CHUNK_DIM4), columns of the owned rows of q and dout, or keys of k and v
//     visited_stage  VISITED x (4 CHUNK_DIM4), the same columns of what is visited; or CHUNK_VISITED complete rows
//
// A group of LANES invocations owns THREAD_OWNED rows or keys. Scores and dp of a tile are pairs. For each of its owned
// rows or keys, a lane holds THREAD_VISITED visited ones: lane, lane + LANES, lane + 2 LANES and so on. Sums have
// columns. A lane holds, of each owned row or key, words lane, lane + LANES and so on. scalar/scores.glsl and
// scalar/output.glsl give the reasons.
#ifndef VKF_PAIR_PRODUCTS_GLSL
#define VKF_PAIR_PRODUCTS_GLSL

const uint STAGED_WORDS = CHUNK_DIM4 + 1;
const uint OWNED_FETCHES = (OWNED * CHUNK_DIM4 + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE;
const uint VISITED_FETCHES = (VISITED * CHUNK_DIM4 + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE;
const uint QK_WORDS = (HEAD_DIM + 3) / 4;
const uint DOV_WORDS = (VALUE_DIM + 3) / 4;
const uint SUMMAND_WORDS = VKF_MAX_WORDS((SUMS_DQK ? QK_WORDS : 0), (SUMS_DV ? DOV_WORDS : 0));
const uint SUMMAND_FETCHES = (CHUNK_VISITED * SUMMAND_WORDS + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE;

shared vec4 owned_stage[VKF_BACKWARD_OWNED_WORDS(OWNED, CHUNK_DIM4)];
shared vec4 visited_stage[VKF_BACKWARD_VISITED_WORDS(VISITED, CHUNK_DIM4, CHUNK_VISITED, LANES * MAX_COLUMNS4)];

vec4 fetched[VKF_MAX_WORDS(OWNED_FETCHES + VISITED_FETCHES, SUMMAND_FETCHES)];

// Rows of the tile's attention head: of q or k, and of dout or v (backward_coopmat/globals.glsl, qk and dov). A
// workgroup that owns keys owns k and v and visits q and dout; another owns q and dout and visits k and v.
Rows owned_qk, owned_dov, visited_qk, visited_dov;

#define VKF_TYPE_OWNED_QK (OWNS_KEYS ? TYPE_K : TYPE_Q)
#define VKF_TYPE_OWNED_DOV (OWNS_KEYS ? TYPE_V : TYPE_DOUT)
#define VKF_TYPE_VISITED_QK (OWNS_KEYS ? TYPE_Q : TYPE_K)
#define VKF_TYPE_VISITED_DOV (OWNS_KEYS ? TYPE_DOUT : TYPE_V)

// Fetches 4 CHUNK_DIM4 columns of the owned and of the visited tile, from column 4 CHUNK_DIM4 chunk on.
void fetchColumns(const Rows owned, const uint owned_type, const uint owned_first, const Rows visited,
                  const uint visited_type, const uint visited_first, const uint dim, const uint chunk) {
    if (isComplete(owned, owned_first, OWNED, chunk * CHUNK_DIM4, CHUNK_DIM4, dim)) {
        uvec2 piece = pieceAddress(owned, owned_type, owned_first, chunk * CHUNK_DIM4);
        UNROLL for (uint i = 0; i < OWNED_FETCHES; i++) {
            uint index = min(i * WORKGROUP_SIZE + thread, OWNED * CHUNK_DIM4 - 1);
            fetched[i] = fetchWord(piece, owned.row_stride, owned_type, index / CHUNK_DIM4, index % CHUNK_DIM4);
        }
    }
    if (isComplete(visited, visited_first, VISITED, chunk * CHUNK_DIM4, CHUNK_DIM4, dim)) {
        uvec2 piece = pieceAddress(visited, visited_type, visited_first, chunk * CHUNK_DIM4);
        UNROLL for (uint i = 0; i < VISITED_FETCHES; i++) {
            uint index = min(i * WORKGROUP_SIZE + thread, VISITED * CHUNK_DIM4 - 1);
            fetched[OWNED_FETCHES + i] =
                fetchWord(piece, visited.row_stride, visited_type, index / CHUNK_DIM4, index % CHUNK_DIM4);
        }
    }
}

void stageColumns(const Rows owned, const uint owned_type, const uint owned_first, const Rows visited,
                  const uint visited_type, const uint visited_first, const uint dim, const uint chunk) {
    if (isComplete(owned, owned_first, OWNED, chunk * CHUNK_DIM4, CHUNK_DIM4, dim)) {
        UNROLL for (uint i = 0; i < OWNED_FETCHES; i++) {
            uint index = i * WORKGROUP_SIZE + thread;
            if (index < OWNED * CHUNK_DIM4) {
                owned_stage[index / CHUNK_DIM4 * STAGED_WORDS + index % CHUNK_DIM4] = fetched[i];
            }
        }
    } else {
        KEEP_LOOP for (uint index = thread; index < OWNED * CHUNK_DIM4; index += WORKGROUP_SIZE) {
            uint row = index / CHUNK_DIM4;
            uint word = index % CHUNK_DIM4;
            owned_stage[row * STAGED_WORDS + word] =
                loadWord(owned, owned_type, dim, owned_first + row, chunk * CHUNK_DIM4 + word);
        }
    }
    if (isComplete(visited, visited_first, VISITED, chunk * CHUNK_DIM4, CHUNK_DIM4, dim)) {
        UNROLL for (uint i = 0; i < VISITED_FETCHES; i++) {
            uint index = i * WORKGROUP_SIZE + thread;
            if (index < VISITED * CHUNK_DIM4) {
                visited_stage[index / CHUNK_DIM4 * STAGED_WORDS + index % CHUNK_DIM4] = fetched[OWNED_FETCHES + i];
            }
        }
    } else {
        KEEP_LOOP for (uint index = thread; index < VISITED * CHUNK_DIM4; index += WORKGROUP_SIZE) {
            uint row = index / CHUNK_DIM4;
            uint word = index % CHUNK_DIM4;
            visited_stage[row * STAGED_WORDS + word] =
                loadWord(visited, visited_type, dim, visited_first + row, chunk * CHUNK_DIM4 + word);
        }
    }
}

// Fetches all columns of CHUNK_VISITED visited rows or keys, from row `first` on.
void fetchSummands(const Rows visited, const uint type, const uint first, const uint words, const uint dim) {
    if (isComplete(visited, first, CHUNK_VISITED, 0, words, dim)) {
        uvec2 piece = pieceAddress(visited, type, first, 0);
        UNROLL for (uint i = 0; i < SUMMAND_FETCHES; i++) {
            uint index = min(i * WORKGROUP_SIZE + thread, CHUNK_VISITED * words - 1);
            fetched[i] = fetchWord(piece, visited.row_stride, type, index / words, index % words);
        }
    }
}

// Stores what fetchSummands fetched to shared memory, in rows of `stride` words.
void stageSummands(const Rows visited, const uint type, const uint first, const uint words, const uint dim,
                   const uint stride) {
    if (isComplete(visited, first, CHUNK_VISITED, 0, words, dim)) {
        UNROLL for (uint i = 0; i < SUMMAND_FETCHES; i++) {
            uint index = i * WORKGROUP_SIZE + thread;
            if (index < CHUNK_VISITED * words) {
                visited_stage[index / words * stride + index % words] = fetched[i];
            }
        }
    } else {
        KEEP_LOOP for (uint index = thread; index < CHUNK_VISITED * words; index += WORKGROUP_SIZE) {
            uint row = index / words;
            visited_stage[row * stride + index % words] = loadWord(visited, type, dim, first + row, index % words);
        }
    }
}

// Marks a pair that the row does not see. 0 times a row or key of NaN or infinity would be NaN, so sums skip the pair.
// No p is negative. A dt of this size has overflowed in all but name.
#define DROPPED_PAIR (-3.40282347e38)

const uint FIRST_SCORE = 0;                        // scores, then p times what dropout keeps
const uint FIRST_DP = NEEDS_DP ? THREAD_PAIRS : 0; // dp, then the gradient of q k^T
const uint PAIRS = NEEDS_DP ? 2 * THREAD_PAIRS : THREAD_PAIRS;
const uint PAIR_ROW_WORDS = CHUNK_VISITED / 4 + 1;
const uint FIRST_DV_SUM = 0;
const uint FIRST_DQK_SUM = SUMS_DQK ? THREAD_OWNED * DV_COLUMNS4 : 0;

float scores_dp[PAIRS];
vec4 sums[THREAD_OWNED * SUM_WORDS];

// One chunk of visited rows or keys. The lanes that computed the pairs write here, and all lanes of the group read.
shared vec4 pair_stage[VKF_BACKWARD_PAIR_WORDS(OWNED, CHUNK_VISITED)];

void clearPairs() {
    UNROLL for (uint i = 0; i < PAIRS; i++) {
        scores_dp[i] = 0.0;
    }
}

void clearSums() {
    UNROLL for (uint i = 0; i < THREAD_OWNED * SUM_WORDS; i++) {
        sums[i] = vec4(0.0);
    }
}

// Adds the products of the staged columns to the pairs from number `base` on.
void addProducts(const uint base) {
    for (uint column4 = 0; column4 < CHUNK_DIM4; column4++) {
        vec4 y[THREAD_VISITED];
        UNROLL for (uint visited = 0; visited < THREAD_VISITED; visited++) {
            y[visited] = visited_stage[visitedIndex(visited) * STAGED_WORDS + column4];
        }
        UNROLL for (uint owned = 0; owned < THREAD_OWNED; owned++) {
            vec4 x = owned_stage[ownedIndex(owned) * STAGED_WORDS + column4];
            UNROLL for (uint visited = 0; visited < THREAD_VISITED; visited++) {
                float s = scores_dp[base + owned * THREAD_VISITED + visited];
                s = fma(x.x, y[visited].x, s);
                s = fma(x.y, y[visited].y, s);
                s = fma(x.z, y[visited].z, s);
                scores_dp[base + owned * THREAD_VISITED + visited] = fma(x.w, y[visited].w, s);
            }
        }
    }
}

// Copies the pairs from number `base` on, of one chunk of what is visited, to shared memory.
void stagePairs(const uint base, const uint chunk) {
    const uint count = CHUNK_VISITED / LANES;
    UNROLL for (uint c = 0; c < SUM_CHUNKS; c++) {
        if (chunk == c) {
            UNROLL for (uint owned = 0; owned < THREAD_OWNED; owned++) {
                UNROLL for (uint visited = 0; visited < count; visited++) {
                    uint column = visitedIndex(visited);
                    pair_stage[ownedIndex(owned) * PAIR_ROW_WORDS + column / 4][column % 4] =
                        scores_dp[base + owned * THREAD_VISITED + c * count + visited];
                }
            }
        }
    }
}

// Adds the staged pairs times the staged rows to the sums from number `base` on, which have `columns4` words of each
// owned row or key. `partial`: some pairs may be DROPPED_PAIR.
void addSums(const uint base, const uint columns4, const bool partial) {
    for (uint first = 0; first < CHUNK_VISITED; first += 4) {
        vec4 y[4 * MAX_COLUMNS4];
        UNROLL for (uint i = 0; i < 4; i++) {
            UNROLL for (uint c = 0; c < MAX_COLUMNS4; c++) {
                if (c < columns4) {
                    y[i * MAX_COLUMNS4 + c] = visited_stage[(first + i) * (LANES * columns4) + lane + c * LANES];
                }
            }
        }
        UNROLL for (uint owned = 0; owned < THREAD_OWNED; owned++) {
            vec4 x = pair_stage[ownedIndex(owned) * PAIR_ROW_WORDS + first / 4];
            UNROLL for (uint c = 0; c < MAX_COLUMNS4; c++) {
                if (c < columns4) {
                    vec4 old = sums[base + owned * columns4 + c];
                    UNROLL for (uint i = 0; i < 4; i++) {
                        vec4 sum = fma(vec4(x[i]), y[i * MAX_COLUMNS4 + c], old);
                        old = partial && x[i] == DROPPED_PAIR ? old : sum;
                    }
                    sums[base + owned * columns4 + c] = old;
                }
            }
        }
    }
}

// From the scores of a tile and dout v^T to p and to the gradient of q k^T (algorithm 2, lines 11 and 14). Score terms,
// masks and dropout are the code of the forward pass, so that each pair has its score and its visibility.

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

// Whether some row of the tile contributes nothing, or does not exist. A barrier must lie between loadRows and this
// function.
bool hasEmptyRow() {
    return last_empty == loads;
}

uint rowOfTile(const uint row) {
    return OWNS_KEYS ? visitedIndex(row) : ownedIndex(row);
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
            VKF_SET_SHARED_FLAG(last_empty, loads);
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
        float capped = finalScore(scores_dp[FIRST_SCORE + at]);
        float p = power(withTerms(terms, key * step, capped) - row_state[row].x);
        bool stays = !HAS_DROPOUT || staysIn(row_dropout[HAS_DROPOUT ? row : 0], j);
        bool seen = !empty && isVisible(visible, j) && isUnmasked(masks, j) &&
                    (!BLOCKS_CROSS_TILES || isOpen(open, key_begin, j));
        bool dropped = partial && !seen;
        if (NEEDS_DP) {
            float dp = scores_dp[FIRST_DP + at];
            if (HAS_DROPOUT) {
                dp *= stays ? DROPOUT_SCALE : 0.0;
            }
            float ds = p * (dp - row_state[row].y);
            MULTIPLY_BY_DERIVATIVE(!OWNS_BIAS, ds, terms, key * step, capped)
            if (HAS_SOFTCAP && !OWNS_BIAS) { // the derivative of softcap tanh(x / softcap)
                float t = capped / params.softcap;
                ds *= fma(-t, t, 1.0);
            }
            scores_dp[FIRST_DP + at] = dropped ? DROPPED_PAIR : ds;
        }
        scores_dp[FIRST_SCORE + at] = dropped ? DROPPED_PAIR : (stays ? p : 0.0);
    }
}

// Turns the scores and dp of the tile into p and the gradient of q k^T without the scale.
void computeGradients(const bool partial) {
    UNROLL for (uint row = 0; row < THREAD_ROWS; row++) {
        computeRow(row, partial);
    }
}

#endif
