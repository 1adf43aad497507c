// SPDX-License-Identifier: MIT
//
// Lines 8 and 9 of the algorithm (attention_decode_matrix.comp): finishes and masks scores, makes probabilities, and
// the factor of line 10.
#ifndef VKF_DECODE_MATRIX_SOFTMAX_GLSL
#define VKF_DECODE_MATRIX_SOFTMAX_GLSL

// Line 8 of the algorithm (attention_decode_matrix.comp), after the products: scale, softcap, ALiBi, bias and masks. In
// a partial tile, also removes values that must not be multiplied.

// Applies scale, softcap, ALiBi and bias, in place. It is called only if the scale cannot be deferred to the exponent
// (SCALED_EARLY).
void finishScores(const uint key_begin) {
    RowTerms terms[LANE_ROWS];
    UNROLL for (uint lane_row = 0; lane_row < LANE_ROWS; lane_row++) {
        uint packed_row = first_row + subgroupRow(lane_row);
        terms[lane_row] = rowTerms(item, queryHead(item, packed_row), slope_row[lane_row], queryRow(packed_row),
                                   HAS_CHOSEN_KEYS ? 0 : key_begin);
    }
    UNROLL for (uint i = 0; i < ROW_MATRICES * ELEMENTS; i++) {
        const uint e = i % ELEMENTS;
        const uint lane_row = laneRowOf(i / ELEMENTS, e);
        if (lane_row < LANE_ROWS) {
            float s = s_matrix[i / ELEMENTS][e] * abs(SCORE_SCALE);
            s = HAS_SOFTCAP ? params.softcap * tanhAccurate(s) : s;
            const uint fragment_row = e / ROW_ELEMENTS;
            s = withSlope(terms[lane_row], HAS_CHOSEN_KEYS ? scoreKey(0, fragment_row) : fragmentKey(fragment_row), s);
            if (HAS_BIAS) {
                s = withFetchedBias(s, fetchedBias(lane_row, e / ROW_ELEMENTS, key_begin), terms[lane_row].bias_factor);
            }
            s_matrix[i / ELEMENTS][e] = s;
        }
    }
}

// Sets the scores of keys that a row does not see to -infinity.
void dropInvisible(const uint key_begin) {
    ivec2 visible[LANE_ROWS];
    RowMasks masks[LANE_ROWS];
    UNROLL for (uint lane_row = 0; lane_row < LANE_ROWS; lane_row++) {
        uint packed_row = first_row + subgroupRow(lane_row);
        visible[lane_row] = visibleKeys(item, queryRow(packed_row));
        if (!HAS_CHOSEN_KEYS) {
            visible[lane_row].y = min(visible[lane_row].y, int(keys.y));
        }
        masks[lane_row] = rowMasks(item, queryHead(item, packed_row), queryRow(packed_row));
    }
    UNROLL for (uint i = 0; i < ROW_MATRICES * ELEMENTS; i++) {
        const uint e = i % ELEMENTS;
        const uint lane_row = laneRowOf(i / ELEMENTS, e);
        if (lane_row < LANE_ROWS) {
            float s = s_matrix[i / ELEMENTS][e];
            uint key = scoreKey(key_begin, e / ROW_ELEMENTS);
            bool listed = !HAS_CHOSEN_KEYS || entries_k[HAS_CHOSEN_KEYS ? e / ROW_ELEMENTS : 0] == key;
            bool seen = listed && IS_PAGE(pages_k[e / ROW_ELEMENTS]) && isVisible(visible[lane_row], key) &&
                        isUnmasked(masks[lane_row], key);
            s_matrix[i / ELEMENTS][e] = CHOOSE(MINUS_INFINITY, s, seen);
        }
    }
}

// Makes the values of a partial tile finite: 0 where the key does not exist, or where the value is infinite or NaN.
void finiteValues(const uint key_begin) {
    UNROLL for (uint i = 0; i < VALUE_KEYS; i++) {
        bool exists = key_begin + valueKey(i) < keys.y;
        UNROLL for (uint word = 0; word < V_LANE_WORDS; word++) {
            uint index = i * V_LANE_WORDS + word;
            fetched_v[index] = mix(uvec4(0), finiteHalves(fetched_v[index]), bvec4(exists));
        }
    }
}

// Sets tile_maximum: the row maxima of the present scores, rounded up to whole numbers of log2. Shuffles
// treat four rows at once. A loop with shuffles in it stays a loop, and the matrices that it indexes would live in
// memory. See docs/kernel_rules.md, "What else keeps arrays of matrices in memory".
void findTileMaximum() {
    UNROLL for (uint i = 0; i < LANE_ROW_VEC4S; i++) {
        tile_maximum[i] = vec4(BEFORE_ANY_KEY);
    }
    UNROLL for (uint i = 0; i < ROW_MATRICES * ELEMENTS; i++) {
        const uint lane_row = laneRowOf(i / ELEMENTS, i % ELEMENTS);
        if (lane_row < LANE_ROWS) {
            tile_maximum[lane_row / 4][lane_row % 4] =
                max(tile_maximum[lane_row / 4][lane_row % 4], s_matrix[i / ELEMENTS][i % ELEMENTS]);
        }
    }
    UNROLL for (uint i = 0; i < LANE_ROW_VEC4S; i++) {
        tile_maximum[i] = wholeUnits(maxOverKeys(tile_maximum[i]) * deferredScale());
    }
}

// p = exp(s - m) overwrites s. In rows that never exist, p is 0. m, l and o change with it. l includes p as it is
// before rounding and dropout.
void updateSoftmax(const uint key_begin) {
    findTileMaximum();
    UNROLL for (uint lane_row = 0; lane_row < LANE_ROWS; lane_row++) {
        float m = max(m_row[lane_row], tile_maximum[lane_row / 4][lane_row % 4]);
        row_factor[lane_row] = rescaleFactor(m_row[lane_row], m);
        m_row[lane_row] = m;
        l_row[lane_row] *= row_factor[lane_row];
    }
    UNROLL for (uint i = 0; i < ROW_MATRICES * ELEMENTS; i++) {
        const uint lane_row = laneRowOf(i / ELEMENTS, i % ELEMENTS);
        float p = 0.0;
        if (lane_row < LANE_ROWS) {
            p = power(fma(s_matrix[i / ELEMENTS][i % ELEMENTS], deferredScale(), -m_row[lane_row]));
            l_row[lane_row] += p;
            if (HAS_DROPOUT &&
                !staysIn(dropout_row[HAS_DROPOUT ? lane_row : 0], scoreKey(key_begin, i % ELEMENTS / ROW_ELEMENTS))) {
                p = 0.0;
            }
        }
        s_matrix[i / ELEMENTS][i % ELEMENTS] = p;
    }
    scaleOutput();
}

#endif
