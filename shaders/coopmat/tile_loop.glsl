// SPDX-License-Identifier: MIT
//
// Lines 6 to 11 of the algorithm (attention_coopmat.comp). attention_narrow.comp has another order of
// the same steps.
#ifndef VKF_COOPMAT_TILE_LOOP_GLSL
#define VKF_COOPMAT_TILE_LOOP_GLSL

// Whether registers are short. Probabilities must then replace the scores before the loads of the next tile begin.
const bool SHORT_OF_REGISTERS = CAPS_DEFERRED || HAS_ALIBI || SHARED_Q_SLICES != 0;

// Lines 6 to 11 for the full tiles of [tile, last] if `full`, else for the partial tiles of that range.
//   - `fetched`: the first tile is in flight to registers already.
//   - `following`: the tile to fetch during the last tile, or NO_TILE. Only with FETCHES_AHEAD.
void attend(const Walk walk, uint tile, const uint last, const bool fetched, const uint following, const bool full) {
    if (!fetched) {
        fetchTile(k, v, tile * TILE_KEYS, full, thread); // 7, of the first tile
    }
    if (NEEDS_BIAS(full)) {
        fetchBias(tile * TILE_KEYS, full);
    }
    stageTile(k, v, tile * TILE_KEYS, full, thread);
    barrier();
    lane_distance = distanceTo(item, tile * TILE_KEYS + laneKey(lane), queryRow(first_row + lanePosition(lane).x));
    if (!full) {
        setMatrixKeys();
    }
    KEEP_LOOP for (;;) { // 6: for each tile j
        tile_begin = tile * TILE_KEYS;
        first_key = tile_begin + laneKey(lane);
        setLaneEntries();
        if (full && (CAPS_DEFERRED || HAS_ALIBI)) { // 8, 9: s, m_i
            computeBoundedScores();
        } else {
            computeScores(full);
        }
        uint next = nextTile(walk, tile, full);
        bool more = SKIPS_BY_MAP ? UNIFORM_BY_VOTE(next <= last) : tile != last;
        bool fetches = more || (FETCHES_AHEAD && following != NO_TILE);
        tile = FETCHES_AHEAD && !more ? following : next;
        if (SHORT_OF_REGISTERS) {
            makeProbabilities(0, 0); // 9: p, l_i
        }
        IF_KEEPING_LOADS_HERE (fetches) { // 7: starts to load k_(j+1), v_(j+1)
            fetchTile(k, v, tile * TILE_KEYS, full, thread);
            if (NEEDS_BIAS(full)) {
                fetchBias(tile * TILE_KEYS, full);
            }
        } else {
            forgetTile();
        }
        if (!SHORT_OF_REGISTERS) {
            makeProbabilities(0, 0); // 9: p, l_i
        }
        if (full || seesTile(0)) {
            accumulateOutput(0); // 10
        } else if (SPREADS_ROWS && seesTile(1)) {
            accumulateOutput(1);
        }
        COUNT_ON(lane_distance, keyPosition(tile * TILE_KEYS - tile_begin));
        barrier(); // the readers of tile j are done
        if (FETCHES_AHEAD && !more) {
            break;
        }
        stageTile(k, v, tile * TILE_KEYS, full, thread); // 7
        barrier();
        if (!FETCHES_AHEAD && !more) {
            break;
        }
    }
}

#endif
