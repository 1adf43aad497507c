// SPDX-License-Identifier: MIT
//
// Line 8 of the algorithm (attention_decode_matrix.comp), after the products: scale, softcap, ALiBi, bias and masks. In
// a partial tile, also removes values that must not be multiplied.
//
// Needs: decode_matrix/state.glsl, scores/final_score.glsl, scores/score_terms.glsl, masks/mask.glsl,
// masks/keep.glsl, matrix/special_values.glsl.
// Provides: finishScores, dropInvisible, finiteValues.
#ifndef VKF_DECODE_MATRIX_SCORES_GLSL
#define VKF_DECODE_MATRIX_SCORES_GLSL

// Applies scale, softcap, ALiBi and bias, in place. It is called only if the scale cannot be deferred to the exponent
// (SCALED_EARLY).
void finishScores(const uint key_begin) {
    RowTerms terms[STATES];
    UNROLL for (uint state = 0; state < STATES; state++) {
        uint packed_row = first_row + stateRow(state);
        terms[state] = rowTerms(item, queryHead(item, packed_row), slope_row[state], queryRow(packed_row), key_begin);
    }
    UNROLL for (uint i = 0; i < ROW_TILES * ELEMENTS; i++) {
        const uint e = i % ELEMENTS;
        const uint state = stateOf(i / ELEMENTS, e);
        if (state < STATES) {
            float s = s_tile[i / ELEMENTS][e] * abs(params.score_scale);
            s = HAS_SOFTCAP ? params.softcap * tanhAccurate(s) : s;
            s_tile[i / ELEMENTS][e] = withTerms(terms[state], fragmentKey(e / ROW_ELEMENTS), s);
        }
    }
}

// Sets the scores of keys that a row does not see to -infinity.
void dropInvisible(const uint key_begin) {
    ivec2 visible[STATES];
    RowKeep keep[STATES];
    UNROLL for (uint state = 0; state < STATES; state++) {
        uint packed_row = first_row + stateRow(state);
        visible[state] = visibleKeys(item, queryRow(packed_row));
        visible[state].y = min(visible[state].y, int(keys.y));
        keep[state] = rowKeep(item, queryHead(item, packed_row), queryRow(packed_row));
    }
    UNROLL for (uint i = 0; i < ROW_TILES * ELEMENTS; i++) {
        const uint e = i % ELEMENTS;
        const uint state = stateOf(i / ELEMENTS, e);
        if (state < STATES) {
            float s = s_tile[i / ELEMENTS][e];
            uint key = key_begin + fragmentKey(e / ROW_ELEMENTS);
            bool seen = isVisible(visible[state], key) && keeps(keep[state], key);
            s_tile[i / ELEMENTS][e] = CHOOSE(MINUS_INFINITY, s, seen);
        }
    }
}

// Makes the values of a partial tile finite: 0 where the key does not exist, or where the value is infinite or NaN.
void finiteValues(const uint key_begin) {
    UNROLL for (uint i = 0; i < VALUE_KEYS; i++) {
        bool exists = key_begin + valueKey(i) < keys.y;
        UNROLL for (uint word = 0; word < V_LANE_WORDS; word++) {
            uint place = i * V_LANE_WORDS + word;
            fetched_v[place] = mix(uvec4(0), finiteHalves(fetched_v[place]), bvec4(exists));
        }
    }
}

#endif
