// SPDX-License-Identifier: MIT
//
// Lines 4 and 5 of the algorithm (attention_decode.comp): stages q as fp32 in shared memory, and clears the state.
//
// Needs: decode/globals.glsl, cache/row_loads.glsl, common/address.glsl, common/element.glsl,
// scores/score_terms.glsl.
// Provides: stagedQuery, stageQueries, clearState.
#ifndef VKF_DECODE_BEGIN_GLSL
#define VKF_DECODE_BEGIN_GLSL

// The place in q_stage of four columns of row r. A lane finds the columns that belong to its words of k there.
uint stagedQuery(const uint r, const uint quad, const uint word) {
    return (r * K_QUADS + quad) * K_LANE_WORDS * LANES + word;
}

void stageQueries() {
    const uint row_words = K_LANE_WORDS * LANES * K_QUADS;
    KEEP_LOOP for (uint place = thread; place < LANE_GROUP_ROWS * row_words; place += WORKGROUP_SIZE) {
        uint r = place / row_words;
        uint column4 = place % row_words;
        uint packed_row = item.row_begin + r;
        vec4 q = vec4(0.0);
        if (packed_row < packedRows(item)) {
            uvec2 head = headAddress(params.q, VKF_Q, item.batch, queryHead(item, packed_row), item.first_row);
            uint column = quadColumn(column4 / K_QUADS, column4 % K_QUADS, TYPE_K);
            q = loadRow4(rowAddress(head, VKF_Q, queryRow(packed_row)), column, HEAD_DIM, TYPE_Q);
        }
        q_stage[stagedQuery(r, column4 % K_QUADS, column4 / K_QUADS)] = q;
    }
}

void clearState() {
    UNROLL for (uint i = 0; i < LANE_GROUP_ROWS * LANE_COLUMNS4; i++) {
        o_tile[i] = vec4(0.0);
    }
    UNROLL for (uint r = 0; r < LANE_GROUP_ROWS; r++) {
        m_row[r] = MINUS_INFINITY;
        l_row[r] = 0.0;
        slope_row[r] = slopeOf(queryHead(item, item.row_begin + r));
        if (HAS_DROPOUT) {
            dropout_row[HAS_DROPOUT ? r : 0] =
                rowDropout(item, queryHead(item, item.row_begin + r), queryRow(item.row_begin + r));
        }
    }
}

#endif
