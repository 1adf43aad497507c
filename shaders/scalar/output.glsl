// SPDX-License-Identifier: MIT
//
// Line 10 of the algorithm (attention_scalar.comp), o += p v, as one invocation sees it. A group of LANES invocations
// owns THREAD_ROWS query rows. In each row, a lane holds THREAD_COLUMNS4 words of four columns of o: word lane,
// lane + LANES, ... This has three reasons:
//   - Neighbouring lanes read neighbouring words of v.
//   - All lanes of a group read one word of p (a broadcast).
//   - A group rescales its rows of o without the other groups.
#ifndef VKF_OUTPUT_GLSL
#define VKF_OUTPUT_GLSL

const uint P_ROW_WORDS = VKF_P_ROW_WORDS(CHUNK_KEYS);

// Probabilities of one chunk of keys. The lanes that computed them write here, and all lanes of the group read.
shared vec4 p_stage[VKF_P_WORDS(TILE_ROWS, CHUNK_KEYS)];

vec4 o_tile[THREAD_ROWS * THREAD_COLUMNS4];

void clearOutput() {
    UNROLL for (uint i = 0; i < THREAD_ROWS * THREAD_COLUMNS4; i++) {
        o_tile[i] = vec4(0.0);
    }
}

// o += p v over the staged keys. `partial`: some p may be DROPPED.
void accumulateOutput(const uint group, const uint lane, const bool partial) {
    for (uint key4 = 0; key4 < CHUNK_KEYS; key4 += 4) {
        vec4 v[4 * THREAD_COLUMNS4];
        UNROLL for (uint key = 0; key < 4; key++) {
            UNROLL for (uint c = 0; c < THREAD_COLUMNS4; c++) {
                v[key * THREAD_COLUMNS4 + c] = kv_stage[(key4 + key) * VALUE_DIM4 + lane + c * LANES];
            }
        }
        UNROLL for (uint row = 0; row < THREAD_ROWS; row++) {
            vec4 p = p_stage[tileRow(group, row) * P_ROW_WORDS + key4 / 4];
            UNROLL for (uint c = 0; c < THREAD_COLUMNS4; c++) {
                vec4 o = o_tile[row * THREAD_COLUMNS4 + c];
                UNROLL for (uint key = 0; key < 4; key++) {
                    vec4 sum = fma(vec4(p[key]), v[key * THREAD_COLUMNS4 + c], o);
                    o = partial && p[key] == DROPPED ? o : sum;
                }
                o_tile[row * THREAD_COLUMNS4 + c] = o;
            }
        }
    }
}

// One past the last row that may share the item's tile. A row with a list of its own has a tile of its own.
#define END_ROW(item) (LISTS_BY_ROW ? (item).row_begin + 1 : SEQUENCE_ROWS(item))

// Stores o, each row times its factor, without rows and columns that do not exist. A factor below 0 (EMPTY_ROW) stores
// an exact 0 even if o holds NaN or infinity. With key splits, the stored rows are a partial result.
void storeOutput(const Item item, const uint group, const uint lane, float factor[THREAD_ROWS]) {
    uvec2 head = headAddress(params.o, VKF_O, item.partial_result, item.head, item.first_row);
    bool aligned4 = isAligned4(head, params.row_stride[VKF_O], TYPE_O);
    UNROLL for (uint row = 0; row < THREAD_ROWS; row++) {
        uint i = item.row_begin + tileRow(group, row);
        if (i < END_ROW(item)) {
            uvec2 address = rowAddress(head, VKF_O, i);
            UNROLL for (uint c = 0; c < THREAD_COLUMNS4; c++) {
                vec4 x = o_tile[row * THREAD_COLUMNS4 + c] * factor[row];
                storeRow4(address, (lane + c * LANES) * 4, VALUE_DIM, TYPE_O, aligned4,
                          factor[row] < 0.0 ? vec4(0.0) : x);
            }
        }
    }
}

#endif
