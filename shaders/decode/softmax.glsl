// SPDX-License-Identifier: MIT
//
// Line 9 of the algorithm (attention_decode.comp), and the factor of line 10.
#ifndef VKF_DECODE_SOFTMAX_GLSL
#define VKF_DECODE_SOFTMAX_GLSL

// Whether a row sees key t of the invocation. `partial`: not all rows see the same keys.
bool seesKey(const uint key_begin, const uint t, const ivec2 visible, const RowMasks masks, const bool partial) {
    uint key = tileKey(key_begin, t);
    bool listed = !HAS_CHOSEN_KEYS || tile_entries[t] == key;
    bool exists = isTileKey(key_begin, t);
    return partial ? exists && listed && isVisible(visible, key) && isUnmasked(masks, key) : exists;
}

// Turns scores into probabilities, in place, updates m and l, and scales o to the new m. In a partial tile,
// probabilities of keys that a row does not see are DROPPED. In a full tile only keys that do not exist are invisible.
// Their probability is 0.
void updateSoftmax(const uint key_begin, const bool partial) {
    uint first_key = HAS_CHOSEN_KEYS ? 0 : tileKey(key_begin, 0);
    UNROLL for (uint r = 0; r < LANE_GROUP_ROWS; r++) {
        ivec2 visible = partial ? visibleKeys(item, queryRow(item.row_begin + r)) : ivec2(0);
        RowTerms terms =
            rowTerms(item, queryHead(item, item.row_begin + r), slope_row[r], queryRow(item.row_begin + r), first_key);
        RowMasks masks = rowMasks(item, queryHead(item, item.row_begin + r), queryRow(item.row_begin + r));
        float m_new = m_row[r];
        UNROLL for (uint t = 0; t < LANE_GROUP_KEYS; t++) {
            uint key = tileKey(key_begin, t);
            float s = withTerms(terms, key - first_key, finalScore(s_tile[r * LANE_GROUP_KEYS + t]));
            s = seesKey(key_begin, t, visible, masks, partial) ? s : MINUS_INFINITY;
            s_tile[r * LANE_GROUP_KEYS + t] = s;
            m_new = max(m_new, s);
        }
        // m is -infinity before the first visible key, and the difference of two infinities is NaN.
        float m = finiteMaximum(m_new);
        float alpha = rescaleFactor(m_row[r], m);
        float l = l_row[r] * alpha;
        UNROLL for (uint t = 0; t < LANE_GROUP_KEYS; t++) {
            float p = power(s_tile[r * LANE_GROUP_KEYS + t] - m);
            bool seen = seesKey(key_begin, t, visible, masks, partial);
            l += seen ? p : 0.0;
            if (HAS_DROPOUT && !staysIn(dropout_row[HAS_DROPOUT ? r : 0], tileKey(key_begin, t))) {
                p = 0.0;
            }
            s_tile[r * LANE_GROUP_KEYS + t] = seen ? p : (partial ? DROPPED : 0.0);
        }
        UNROLL for (uint c = 0; c < LANE_COLUMNS4; c++) {
            o_tile[r * LANE_COLUMNS4 + c] *= alpha;
        }
        m_row[r] = m_new;
        l_row[r] = l;
    }
}

#endif
