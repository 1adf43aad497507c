// SPDX-License-Identifier: MIT
//
// What the kernels of path coopmat do with one tile of keys, lines 8 to 10 of the algorithm (attention_coopmat.comp),
// and the order in which a workgroup walks over the tiles. The other files of the folder have the functions of each
// step.
#ifndef VKF_COOPMAT_TILE_WALK_GLSL
#define VKF_COOPMAT_TILE_WALK_GLSL

// Line 8: the scores of one tile of keys, before masks. Most tiles defer ALiBi to the exponent (deferred_scores.glsl).
// Without a bias, most tiles also defer the scale and a softcap.
void makeScores(const bool full) {
    beginScores();
    if (full || seesTile(0)) {
        computeProducts(0); // s = q_i k_j^T
    } else if (SPREADS_ROWS && seesTile(1)) {
        computeProducts(1);
    }
    takeScores();
    deferred = HAS_SOFTCAP ? softcap() * nearTanhFactors(scoreScale()) : vec3(scoreScale(), 0.0, 0.0);
    if (HAS_SOFTCAP && !(CAPS_DEFERRED && full)) {
        capUnless(areNearZero());
    }
    APPLY_SCORE
    if (ADDS_BIAS) {
        addBias();
    }
    if (HAS_ALIBI) {
        stageSlopes(full);
    }
}

// Lines 8 and 9: computes the scores of one tile, and raises m so that no probability exceeds 2^RESCALE_THRESHOLD.
//
// A tile that raises m is rare, and computes its products a second time. A branch around the rescaling would avoid
// that. But where a branch joins two versions of o, NVIDIA's compiler copies all of o in every tile. See
// lab/log-0.4.md, "Log: the cooperative-matrix kernel".
void computeScores(const bool full) {
    for (;;) {
        makeScores(full); // 8
        if (HAS_CHOSEN_KEYS) {
            dropUnlisted();
        } else if (!full) {
            if (HAS_PER_KEY_MASKS && !(HAS_TILE_MAP && UNIFORM_BY_VOTE(isUnmaskedTile(tile_begin / TILE_KEYS)))) {
                dropMasked();
            }
            if (BIAS_IS_MASK && !UNIFORM_BY_VOTE(isBiasFree(tile_begin / TILE_KEYS))) {
                dropByBias();
            }
            findPresentKeys();
            dropInvisible();
        }
        findTileMaximum(); // 9: rowmax s
        if (!exceedsThreshold()) {
            break;
        }
        rescale(); // 9, 10: m_i, and l_i and o_i times exp(m_old - m_i)
        if (HAS_ALIBI && !full) {
            PRETEND_TO_CHANGE(first_key, params.keys);
        }
        if (NEEDS_BIAS(full)) {
            fetchBias(tile_begin, full); // again, because its registers hold scores by now
        }
    }
}

// Lines 8 and 9 for full tiles under ALiBi or a deferred softcap: tries a cheap upper bound of the scores first, which
// is enough for most tiles. This loop is a function of its own: a second exit from the loop of computeScores would make
// plain calls 1.7 % slower, although they never take it. See docs/kernel_rules.md, "What costs registers or moves".
void computeBoundedScores() {
    for (;;) {
        makeScores(true); // 8
        bool are_small;
        if (!subgroupAny(mayExceedThreshold(are_small))) {
            break;
        }
        if (CAPS_DEFERRED) {
            capUnless(are_small);
        }
        findTileMaximum(); // 9, as above
        if (!exceedsThreshold()) {
            break;
        }
        rescale();
        if (ADDS_BIAS) {
            fetchBias(tile_begin, true);
        }
    }
}

// The column of matrices of v after whose products the probabilities of the next slice are made. Only the compiler's
// order depends on it (lab/log-0.4.md, "probabilities of the next 16 keys").
#define LAST_COLUMN_BEFORE (ROW_MATRICES == 1 || SHARED_Q_SLICES == 0 ? (VALUE_MATRICES - 1) / 2 : VALUE_MATRICES - 1)

// Line 10: o_i += p v_j, for matrices of rows from `first_matrix` on. The caller has made the probabilities of the
// first slice of keys. This loop makes the probabilities of the next slice between the products of this slice, while
// the matrix unit works.
void accumulateHalves(const uint first_matrix) {
    UNROLL for (uint slice = 0; slice < KEY_SLICES; slice++) {
        UNROLL for (uint c = 0; c < VALUE_MATRICES; c++) {
            RightMatrix v_matrix;
            coopMatLoad(v_matrix, stage, V_STAGE + slice * MATRIX_DEPTH * V_ROW + c * V_SLICE_WORDS, V_ROW,
                        gl_CooperativeMatrixLayoutRowMajor);
            UNROLL for (uint r = first_matrix; r < ROW_MATRICES; r++) {
                o_matrix[r * VALUE_MATRICES + c] =
                    coopMatMulAdd(p_matrix[r * KEY_SLICES + slice], v_matrix, o_matrix[r * VALUE_MATRICES + c]);
            }
            if (c == LAST_COLUMN_BEFORE && slice + 1 < KEY_SLICES) {
                makeProbabilities(slice + 1, first_matrix);
            }
        }
    }
}

const bool SKIPS_BY_MAP = HAS_BLOCK_MASK || WALKS_MAP;            // a block mask or a map says which tiles are empty
const bool SKIPS_FIRST_KEYS_GAP = MASKS_ANY_KEY && !HAS_TILE_MAP; // the tiles between the first keys and the window
const bool FULL_TILES_FIRST = AND_NO_SCORE(!HAS_ALIBI);

#define NO_TILE 0xffffffffu // no tile of keys has this number

// Whether registers are free for a tile of the second loop during the first loop. Subgroups with two matrices of rows
// have none. Invocations that fetch 16 words of a tile lose 4 % (lab/log-0.4.md, "first tile of the second loop").
// Choices stand here in place of && for the reason that CLEARS_STAGE gives (coopmat/tile.glsl).
const bool HOLDS_NEXT_TILE = ROW_MATRICES == 1 ? K_FETCHES + V_FETCHES <= 8 : false;
// Whether the kernel fetches the first tile of the second loop during the last tile of the first loop. Otherwise the
// second loop begins by waiting for it. The wait matters under causal masks and windows, where loops are short.
// The entry file chooses: MAY_FETCH_AHEAD, or false.
#define MAY_FETCH_AHEAD (SKIPS_BY_MAP || ADDS_BIAS ? false : HAS_WINDOW ? HOLDS_NEXT_TILE : false)
const bool FETCHES_AHEAD = VKF_FETCHES_AHEAD;
// Whether the kernel also fetches the first tile of all before the barrier that ends the loading of q. With D = 128,
// windows take 2 % more time if it does.
const bool FETCHES_EARLY = FETCHES_AHEAD ? HEAD_DIM > 128 : false;

// The tiles of keys of a workgroup. Some row sees tiles [first, end). The visible ranges of all rows include all keys
// of [full_first, full_end).
//
//   - The walk takes the full tiles first, then the partial tiles on either side of them.
//   - Under a score function the walk takes the partial tiles first. Many functions grow towards the row's position, as
//     ALiBi does, and m would grow with them in nearly every tile.
//   - Under ALiBi the walk takes the partial tiles first. Tiles [diagonal_first, diagonal_end) lie on both sides of
//     a row's position and count as partial. Scores rise towards that position, and m would rise with them, so the
//     walk begins there.
//   - With a map or a block mask the walk skips empty tiles. A map also says which tiles are full.
//   - No tile counts as full in three cases: tiles cross blocks of a block mask, and there is no map; per-key masks can
//     hide any key, and there is no map; full tiles have a bias that cannot be read in vectors.
struct Walk {
    uint first, full_first, diagonal_first, diagonal_end, full_end, end;
};

// The range of keys [x, y) at which the rows of the workgroup stand.
ivec2 positions() {
    uint last_row = LAST_ROW(item);
    return ivec2(firstKeyFrom(1 - distanceTo(item, 0, queryRow(item.row_begin))) - 1,
                 firstKeyFrom(-distanceTo(item, 0, queryRow(last_row))) + 1);
}

// The walk of the workgroup, before it is divided among key splits.
Walk walkOf(const TileMask mask) {
    Walk walk;
    walk.first = uint(mask.any.x) / TILE_KEYS;
    walk.end = uint(max(mask.any.y, mask.any.x) + int(TILE_KEYS) - 1) / TILE_KEYS;
    walk.full_first = clamp(uint(max(mask.all.x, 0) + int(TILE_KEYS) - 1) / TILE_KEYS, walk.first, walk.end);
    walk.full_end = clamp(uint(max(mask.all.y, 0)) / TILE_KEYS, walk.full_first, walk.end);
    if (SKIPS_FIRST_KEYS_GAP) { // tiles [full_first, full_end) are empty here, and the walk leaves them out
        ivec2 empty_keys = unseenKeys(item);
        walk.full_first = clamp(uint(empty_keys.x + int(TILE_KEYS) - 1) / TILE_KEYS, walk.first, walk.end);
        walk.full_end = clamp(uint(empty_keys.y) / TILE_KEYS, walk.full_first, walk.end);
    } else if ((BLOCKS_CROSS_TILES && !HAS_TILE_MAP) || (ADDS_BIAS && !bias_in_vectors)) {
        walk.full_end = walk.full_first;
    } else if (MASKS_LAST_KEYS && !HAS_TILE_MAP) {
        walk.full_end = clamp(uint(max(firstMaskedKey(item), 0)) / TILE_KEYS, walk.full_first, walk.full_end);
    }
    walk.diagonal_first = walk.full_end;
    walk.diagonal_end = walk.full_end;
    if (HAS_ALIBI && !SKIPS_FIRST_KEYS_GAP) {
        ivec2 diagonal = positions();
        walk.diagonal_first = clamp(uint(max(diagonal.x + 1, 0)) / TILE_KEYS, walk.full_first, walk.full_end);
        walk.diagonal_end =
            clamp(uint(max(diagonal.y + int(TILE_KEYS) - 2, 0)) / TILE_KEYS, walk.diagonal_first, walk.full_end);
        if (SKIPS_BY_MAP) {
            walk.full_end = walk.diagonal_first;
            walk.diagonal_end = walk.diagonal_first;
        }
    }
    return walk;
}

// The first non-empty tile from `tile` on, full or partial as asked; walk.full_end or walk.end if there is none. With a
// map, tile_map.glsl keeps the position of the walk, and `tile` is not used.
uint firstNonEmptyTile(const Walk walk, const uint tile, const bool full) {
    if (WALKS_MAP) {
        return nextMappedTile(full ? walk.full_end : walk.end, walk.full_first, walk.full_end, full);
    }
    if (full) {
        return openTile(tile, walk.full_end);
    }
    uint before = openTile(tile, walk.full_first);
    return before < walk.full_first ? before : openTile(max(tile, walk.full_end), walk.end);
}

// The tile after `tile`, full or partial as asked.
uint nextTile(const Walk walk, const uint tile, const bool full) {
    if (SKIPS_BY_MAP) {
        return firstNonEmptyTile(walk, tile + 1, full);
    }
    if (full) {
        return HAS_ALIBI && tile + 1 == walk.diagonal_first ? walk.diagonal_end : tile + 1;
    }
    uint next = tile + 1 == walk.full_first ? walk.diagonal_first : tile + 1;
    return next == walk.diagonal_end ? walk.full_end : next;
}

// Full tile number `index` of the walk.
uint fullTile(const Walk walk, const uint index) {
    uint tile = walk.full_first + index;
    return HAS_ALIBI && tile >= walk.diagonal_first ? tile + (walk.diagonal_end - walk.diagonal_first) : tile;
}

// Partial tile number `index` of the walk.
uint partialTile(const Walk walk, const uint index) {
    uint tile = walk.first + index;
    tile += tile < walk.full_first ? 0 : walk.diagonal_first - walk.full_first;
    return tile < walk.diagonal_end ? tile : tile + (walk.full_end - walk.diagonal_end);
}

#endif
