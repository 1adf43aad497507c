// SPDX-License-Identifier: MIT
//
// Line 9 of the algorithm (attention_latent.comp), and the last step of line 8: adds up partial scores and finishes
// them. Then v takes the place of k in shared memory (line 7).
#ifndef VKF_LATENT_SOFTMAX_GLSL
#define VKF_LATENT_SOFTMAX_GLSL

// Where the partial sums of a matrix of rows begin in s_stage. Their first matrix later holds the factors of the rows.
uint firstPartial(const uint r) {
    return r * ROW_PARTIALS * MATRIX_FLOATS;
}

// The packed row of this invocation in a matrix of rows.
uint packedRow(const uint r) {
    return item.row_begin + r * MATRIX_ROWS + row;
}

// The key of a key number of the present tile. An entry of a list may be no key.
uint tileKey(const uint number) {
    return HAS_CHOSEN_KEYS ? page_stage[stagedEntry(number)] : keyOfNumber(empty_keys, number);
}

// Line 8: the scores of keys 2 pair and 2 pair + 1 of the tile, with all terms and masks.
vec2 pairOfScores(const uint r, const uint key_begin) {
    uint key = 2 * pair;
    uint begin = firstPartial(r) + key / MATRIX_COLUMNS * DEPTH_SUBGROUPS * MATRIX_FLOATS + row * MATRIX_COLUMNS +
                 key % MATRIX_COLUMNS;
    vec2 s = vec2(0.0);
    UNROLL for (uint i = 0; i < DEPTH_SUBGROUPS; i++) {
        s += vec2(s_stage[begin + i * MATRIX_FLOATS], s_stage[begin + i * MATRIX_FLOATS + 1]);
    }
    uint first = tileKey(key_begin + key);
    uint second = tileKey(key_begin + key + 1);
    bvec2 seen = bvec2(isVisible(visible[r], first), isVisible(visible[r], second));
    if (HAS_CHOSEN_KEYS) { // isVisible is false for entries that are no keys; masks and terms take existing keys
        first = keyOfEntry(first);
        second = keyOfEntry(second);
    }
    uint packed_row = packedRow(r);
    uint head = queryHead(item, packed_row);
    RowTerms terms = rowTerms(item, head, slope[r], queryRow(packed_row), first);
    s = vec2(withTerms(terms, 0, finalScore(s.x)), withTerms(terms, second - first, finalScore(s.y)));
    if (HAS_PER_KEY_MASKS) {
        RowMasks masks = rowMasks(item, head, queryRow(packed_row));
        seen = bvec2(seen.x && isUnmasked(masks, first), seen.y && isUnmasked(masks, second));
    }
    return mix(vec2(MINUS_INFINITY), s, bvec2(seen.x && present.x, seen.y && present.y));
}

// Two probabilities in 16 bits, rounded to nearest.
uint roundPair(vec2 p) {
    uvec2 bits = BF16_BITS(p);
    return MATRICES_ARE_BF16 ? bits.x >> 16 | (bits.y & 0xffff0000u) : packHalf2x16(p);
}

// Writes the factor of the invocation's row to all columns of its row, where the first partial sums of the scores were.
// Only the invocations of the row have read these.
void stageFactor(const uint r, const float factor) {
    KEEP_LOOP for (uint column = pair; column < MATRIX_COLUMNS; column += ROW_THREADS) {
        s_stage[firstPartial(r) + row * MATRIX_COLUMNS + column] = factor;
    }
}

// Line 9. l includes p as it is before rounding and dropout.
void updateSoftmax(const uint key_begin) {
    UNROLL for (uint r = 0; r < ROW_MATRICES; r++) {
        vec2 s = pairOfScores(r, key_begin);
        float tile_maximum = max(s.x, s.y);
        for (uint distance = 1; distance < ROW_THREADS; distance *= 2) {
            tile_maximum = max(tile_maximum, subgroupShuffleXor(tile_maximum, distance));
        }
        float last = m[r];
        m[r] = max(last, wholeUnits(tile_maximum));
        vec2 p = power(s - m[r]);
        l[r] = l[r] * rescaleFactor(last, m[r]) + p.x + p.y;
        if (HAS_DROPOUT) {
            uint first = tileKey(key_begin + 2 * pair);
            uint second = tileKey(key_begin + 2 * pair + 1);
            p = mix(vec2(0.0), p, bvec2(staysIn(dropout[r], first), staysIn(dropout[r], second)));
        }
        p_stage[(r * MATRIX_ROWS + row) * ROW_THREADS + pair] = roundPair(p);
        stageFactor(r, rescaleFactor(last, m[r]));
    }
}

// Line 7 of the algorithm (attention_latent.comp): moves v to the shared memory of k.

// Loads v into the registers of k. At that time k is in shared memory, and the next k is not in flight yet.
void fetchValues(const uint key_begin) {
    UNROLL for (uint i = 0; i < V_FETCHES; i++) {
        uint index = i * WORKGROUP_SIZE + thread;
        uint key = existingKey(key_begin + min(index / V_LOADS, TILE_KEYS - 1));
        uvec2 address = keyAddress(v_head, VKF_V, pageOf(item.batch, key), key);
        fetched[i] = fetchedWord(address, index % V_LOADS, TYPE_V);
    }
}

// `full`: every row sees all keys of the tile. In other tiles, values become zeros if they are infinite or NaN, or if
// their key does not exist. Where v is a view of k, its words are there already, and only a partial tile needs this
// function.
void stageValues(const uint key_begin, const bool full) {
    UNROLL for (uint i = 0; i < V_FETCHES; i++) {
        uint index = i * WORKGROUP_SIZE + thread;
        uint of_tile = min(index / V_LOADS, TILE_KEYS - 1);
        UNROLL for (uint load_word = 0; load_word < V_LOAD_WORDS; load_word++) {
            uint at = of_tile * STAGE_ROW + wordOfLoad(index % V_LOADS, load_word, TYPE_V);
            uvec4 word = wordOfLoad(fetched[i], load_word, TYPE_V);
            if (v_in_k && index < TILE_KEYS * V_LOADS) { // the others' word is one that another invocation replaces
                word = stage[at];
            }
            if (!full) {
                word = key_begin + of_tile < keys.y ? finiteHalves(word) : uvec4(0);
            }
            if (index < TILE_KEYS * V_LOADS) {
                stage[at] = word;
            }
        }
    }
}

#endif
