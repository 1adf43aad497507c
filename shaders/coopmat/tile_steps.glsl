// SPDX-License-Identifier: MIT
//
// Lines 8 to 10 of the algorithm (attention_coopmat.comp), for one tile of keys. The other files of the folder have the
// functions of each step.
#ifndef VKF_COOPMAT_TILE_STEPS_GLSL
#define VKF_COOPMAT_TILE_STEPS_GLSL

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
    if (ADDS_BIAS) {
        addBias();
    }
    if (HAS_ALIBI) {
        placeSlopes(full);
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
        if (!full) {
            if (HAS_PER_KEY_MASKS && !(HAS_TILE_MAP && UNIFORM_BY_VOTE(isUnmaskedTile(tile_begin / TILE_KEYS)))) {
                dropMasked();
            }
            if (BIAS_IS_MASK && !UNIFORM_BY_VOTE(isBiasFree(tile_begin / TILE_KEYS))) {
                dropByBias();
            }
            dropInvisible();
        }
        findTileMaximum(); // 9: rowmax s
        if (!hasOutgrown()) {
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
        bool near;
        if (!subgroupAny(mayOutgrow(near))) {
            break;
        }
        if (CAPS_DEFERRED) {
            capUnless(near);
        }
        findTileMaximum(); // 9, as above
        if (!hasOutgrown()) {
            break;
        }
        rescale();
        if (ADDS_BIAS) {
            fetchBias(tile_begin, true);
        }
    }
}

// The column of matrices of v after whose products the probabilities of the next depth are made. Only the compiler's
// order depends on it (lab/log-0.4.md, "probabilities of the next 16 keys").
#define LAST_COLUMN_BEFORE (ROW_TILES == 1 || SHARED_DEPTHS == 0 ? (VALUE_TILES - 1) / 2 : VALUE_TILES - 1)

// Line 10: o_i += p v_j, for matrices of rows from `first_matrix` on. The caller has made the probabilities of the
// first depth. This loop makes the probabilities of the next depth between the products of this depth, while the matrix
// unit works.
void accumulateHalves(const uint first_matrix) {
    UNROLL for (uint depth = 0; depth < KEY_DEPTHS; depth++) {
        UNROLL for (uint c = 0; c < VALUE_TILES; c++) {
            RightMatrix v_tile;
            coopMatLoad(v_tile, stage, V_STAGE + depth * MATRIX_DEPTH * V_ROW + c * VALUE_TILE_WORDS, V_ROW,
                        gl_CooperativeMatrixLayoutRowMajor);
            UNROLL for (uint r = first_matrix; r < ROW_TILES; r++) {
                o_tile[r * VALUE_TILES + c] =
                    coopMatMulAdd(p_tile[r * KEY_DEPTHS + depth], v_tile, o_tile[r * VALUE_TILES + c]);
            }
            if (c == LAST_COLUMN_BEFORE && depth + 1 < KEY_DEPTHS) {
                makeProbabilities(depth + 1, first_matrix);
            }
        }
    }
}

#endif
