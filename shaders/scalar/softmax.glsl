// SPDX-License-Identifier: MIT
//
// Line 9 of the algorithm (attention_scalar.comp), and the factor of line 10. This is the online softmax (Milakov and
// Gimelshein 2018) of one invocation's rows. After some tiles of keys, each row has:
//
//     m  running maximum; -infinity before the first visible key; all lanes have the same value
//     l  running sum of exp(s - m) over the keys of this lane; the sums of the lanes are added once, at the end
//     o  sum of exp(s - m) v
#ifndef VKF_SOFTMAX_GLSL
#define VKF_SOFTMAX_GLSL

float m_row[THREAD_ROWS];
float l_row[THREAD_ROWS];
float slope; // of the item's head
RowDropout dropout_row[HAS_DROPOUT ? THREAD_ROWS : 1];

void clearSoftmax() {
    UNROLL for (uint row = 0; row < THREAD_ROWS; row++) {
        m_row[row] = MINUS_INFINITY;
        l_row[row] = 0.0;
    }
}

void setDropout(const Item item, const uint group) {
    UNROLL for (uint row = 0; row < (HAS_DROPOUT ? THREAD_ROWS : 0); row++) {
        dropout_row[row] = rowDropout(item, item.head, item.row_begin + tileRow(group, row));
    }
}

// Maximum and sum of a row over the lanes of a group. With VKF_SUBGROUPS the values pass through shuffles, else through
// p_stage.

#ifdef VKF_SUBGROUPS
void maximumOverLanes(inout float x[THREAD_ROWS], const uint group, const uint lane) {
    UNROLL for (uint distance = LANES / 2; distance > 0; distance /= 2) {
        UNROLL for (uint row = 0; row < THREAD_ROWS; row++) {
            x[row] = max(x[row], subgroupShuffleXor(x[row], distance));
        }
    }
}

void sumOverLanes(inout float x[THREAD_ROWS], const uint group, const uint lane) {
    UNROLL for (uint distance = LANES / 2; distance > 0; distance /= 2) {
        UNROLL for (uint row = 0; row < THREAD_ROWS; row++) {
            x[row] += subgroupShuffleXor(x[row], distance);
        }
    }
}
#else
// Writes a value of each row and lane to p_stage. A row of p_stage has at least as many elements as a group has lanes.
// The function has barriers, so every invocation of the workgroup must call it.
void exchangeOverLanes(float x[THREAD_ROWS], const uint group, const uint lane) {
    barrier();
    UNROLL for (uint row = 0; row < THREAD_ROWS; row++) {
        p_stage[tileRow(group, row) * P_ROW_WORDS + lane / 4][lane % 4] = x[row];
    }
    barrier();
}

float exchanged(const uint group, const uint row, const uint lane) {
    return p_stage[tileRow(group, row) * P_ROW_WORDS + lane / 4][lane % 4];
}

void maximumOverLanes(inout float x[THREAD_ROWS], const uint group, const uint lane) {
    exchangeOverLanes(x, group, lane);
    UNROLL for (uint row = 0; row < THREAD_ROWS; row++) {
        for (uint other = 0; other < LANES; other++) {
            x[row] = max(x[row], exchanged(group, row, other));
        }
    }
    barrier();
}

void sumOverLanes(inout float x[THREAD_ROWS], const uint group, const uint lane) {
    exchangeOverLanes(x, group, lane);
    UNROLL for (uint row = 0; row < THREAD_ROWS; row++) {
        x[row] = 0.0;
        for (uint other = 0; other < LANES; other++) {
            x[row] += exchanged(group, row, other);
        }
    }
    barrier();
}
#endif

// Bits of the open blocks that a row has in the tile, for seesKey. If no block ends inside a tile, seesKey does not use
// the bits.
uint openInTile(const uint row, const uint key_begin) {
    return BLOCKS_CROSS_TILES ? openBlocks(row, key_begin) : 0;
}

// The keys of this invocation in the present tile, where they stand in a list of chosen keys.
uint lane_entries[HAS_CHOSEN_KEYS ? THREAD_KEYS : 1];

uint present_keys; // in a partial tile: bit i is set if key number i of this invocation has a page

// Key number `index` of this invocation, for masks and terms of scores.
uint laneKey(const uint key_begin, const uint lane, const uint index) {
    return HAS_CHOSEN_KEYS ? keyOfEntry(lane_entries[HAS_CHOSEN_KEYS ? index : 0]) : key_begin + lane + index * LANES;
}

// Whether a row sees key number `index` of this invocation.
bool seesKey(const ivec2 visible, const uint open, const RowMasks masks, const uint key_begin, const uint lane,
             const uint index) {
    uint key = laneKey(key_begin, lane, index);
    return isVisible(visible, key) && (!BLOCKS_CROSS_TILES || isOpen(open, key_begin, key)) && isUnmasked(masks, key) &&
           (!HAS_CHOSEN_KEYS || lane_entries[HAS_CHOSEN_KEYS ? index : 0] == key) &&
           (!HAS_PAGES || !LACKS_BIT(present_keys, index));
}

// Line 9 for the tile that begins at key_begin. The scores become probabilities, in place. m and l are updated, and o
// is rescaled to the new m. `partial`: masks test each pair, and the probability of a dropped pair becomes DROPPED.
void updateSoftmax(const Item item, const uint group, const uint lane, const uint key_begin, const bool partial) {
    UNROLL for (uint key = 0; key < (HAS_CHOSEN_KEYS ? THREAD_KEYS : 0); key++) {
        lane_entries[key] = listEntry(key_begin + lane + key * LANES, list_end);
    }
    present_keys = 0u;
    UNROLL for (uint key = 0; key < (HAS_PAGES ? THREAD_KEYS : 0); key++) {
        present_keys |= partial && mayBeSeen(item, laneKey(key_begin, lane, key)) ? 1u << key : 0u;
    }
    float m_tile[THREAD_ROWS];
    UNROLL for (uint row = 0; row < THREAD_ROWS; row++) {
        uint i = item.row_begin + tileRow(group, row);
        ivec2 visible = visibleKeys(item, i);
        uint open = partial ? openInTile(i, key_begin) : 0;
        RowMasks masks = rowMasks(item, item.head, i);
        RowTerms terms = rowTerms(item, item.head, slope, i, HAS_CHOSEN_KEYS ? 0 : key_begin + lane);
        m_tile[row] = m_row[row];
        UNROLL for (uint key = 0; key < THREAD_KEYS; key++) {
            float s = finalScore(s_tile[row * THREAD_KEYS + key]);
            uint offset = HAS_CHOSEN_KEYS ? laneKey(key_begin, lane, key) : key * LANES;
            s = BIAS_IS_MASK && !partial ? withSlope(terms, offset, s) : withTerms(terms, offset, s);
            if (partial && !seesKey(visible, open, masks, key_begin, lane, key)) {
                s = MINUS_INFINITY;
            }
            s_tile[row * THREAD_KEYS + key] = s;
            m_tile[row] = max(m_tile[row], s);
        }
    }
    maximumOverLanes(m_tile, group, lane);

    UNROLL for (uint row = 0; row < THREAD_ROWS; row++) {
        uint i = item.row_begin + tileRow(group, row);
        ivec2 visible = visibleKeys(item, i);
        uint open = partial ? openInTile(i, key_begin) : 0;
        RowMasks masks = rowMasks(item, item.head, i);
        float m = finiteMaximum(m_tile[row]);
        float alpha = rescaleFactor(m_row[row], m);
        float l = l_row[row] * alpha;
        UNROLL for (uint key = 0; key < THREAD_KEYS; key++) {
            float p = power(s_tile[row * THREAD_KEYS + key] - m);
            if (partial && !seesKey(visible, open, masks, key_begin, lane, key)) {
                p = DROPPED;
            } else {
                l += p;
                if (HAS_DROPOUT && !staysIn(dropout_row[HAS_DROPOUT ? row : 0], laneKey(key_begin, lane, key))) {
                    p = 0.0;
                }
            }
            s_tile[row * THREAD_KEYS + key] = p;
        }
        UNROLL for (uint c = 0; c < THREAD_COLUMNS4; c++) {
            o_tile[row * THREAD_COLUMNS4 + c] *= alpha;
        }
        m_row[row] = m_tile[row];
        l_row[row] = l;
    }
}

// Copies the probabilities of one chunk of keys to shared memory. Each lane has CHUNK_KEYS / LANES keys of a chunk.
void stageP(const uint chunk, const uint group, const uint lane) {
    const uint keys = CHUNK_KEYS / LANES;
    UNROLL for (uint c = 0; c < KEY_CHUNKS; c++) {
        if (chunk == c) {
            UNROLL for (uint row = 0; row < THREAD_ROWS; row++) {
                UNROLL for (uint key = 0; key < keys; key++) {
                    uint column = lane + key * LANES;
                    p_stage[tileRow(group, row) * P_ROW_WORDS + column / 4][column % 4] =
                        s_tile[row * THREAD_KEYS + c * keys + key];
                }
            }
        }
    }
}

#endif
