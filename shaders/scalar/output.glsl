// SPDX-License-Identifier: MIT
//
// Line 10 of the algorithm (attention_scalar.comp), o += p v, as one invocation sees it. Of the THREAD_ROWS query rows
// of its group a lane holds THREAD_COLUMNS4 words of four columns of o: word lane, lane + LANES, ... So neighbouring
// lanes read neighbouring words of v, all lanes of a group read the same word of p (a broadcast), and rescaling a row
// of o needs no other group.
//
// Needs: scalar/scalar_tile.glsl, scalar/stage.glsl (kv_stage), common/address.glsl, common/element.glsl.
// Provides: p_stage, o_tile, clearOutput, accumulateOutput, storeOutput, P_ROW_WORDS.
#ifndef VKF_OUTPUT_GLSL
#define VKF_OUTPUT_GLSL

#include "masks/dropped.glsl"

const uint P_ROW_WORDS = VKF_P_ROW_WORDS(CHUNK_KEYS);

// Probabilities of one chunk of keys, on their way from the lanes that made them to the lanes that need
// them.
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

// Stores the columns of o that exist, of the rows that exist, each row times its factor. A factor of 0 makes an exact 0
// of whatever o holds. With key splits this is a partial result.
void storeOutput(const Item item, const uint group, const uint lane, float factor[THREAD_ROWS]) {
    uvec2 head = headAddress(params.o, VKF_O, item.partial_result, item.head, item.first_row);
    bool aligned4 = isAligned4(head, params.row_stride[VKF_O], TYPE_O);
    UNROLL for (uint row = 0; row < THREAD_ROWS; row++) {
        uint i = item.row_begin + tileRow(group, row);
        if (i < SEQUENCE_ROWS(item)) {
            uvec2 address = rowAddress(head, VKF_O, i);
            UNROLL for (uint c = 0; c < THREAD_COLUMNS4; c++) {
                vec4 x = o_tile[row * THREAD_COLUMNS4 + c] * factor[row];
                storeRow4(address, (lane + c * LANES) * 4, VALUE_DIM, TYPE_O, aligned4,
                          factor[row] == 0.0 ? vec4(0.0) : x);
            }
        }
    }
}

#endif
