// SPDX-License-Identifier: MIT
//
// The kernel of attention_coopmat.comp for heads of up to 64 columns with dense 16-bit k and v, without score terms and
// per-key masks. Lines 6 to 11 of the algorithm have another order. k and v of a tile are fetched and staged at
// different times:
//
//     k_j is free after line 8 of tile j        k_(j+1) takes its place before line 10 of tile j
//     v_j is free after line 10 of tile j       v_(j+1) takes its place before line 8 of tile j + 1
//
// Each tile has two barriers, as in the usual order. But work of a subgroup lies between any two barriers, so that a
// subgroup that comes late at one of them makes the others wait less. In the usual order both barriers stand side by
// side. Half of a tile is in flight at a time, which takes registers during line 8. Wider heads have none left there:
// with D = 128 this order takes 1.25 times as long (lab/log-0.4.md, "k and v placed apart").
//
// The kernel takes problems without a map of tiles, a block mask, a bias, a softcap and ALiBi. Then the next tile is
// known before the scores of this one.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require

// The functions of this kernel that other kernels replace, and its choices.
#define loadQueries loadHalfQueries
#define computeProducts multiplyHalves
#define makeProbabilities makeHalfProbabilities
#define accumulateOutput accumulateHalves
#define VKF_SPREADS_ROWS false  // narrow heads gain nothing
#define VKF_FETCHES_AHEAD false // k and v of a tile are fetched at different times

#include "coopmat/prelude.glsl"
#include "matrix/special_values.glsl" // infinity and NaN in v.
#include "matrix/half_rows.glsl"
#include "coopmat/tile.glsl"                  // sizes, and the rows of a subgroup.
#include "coopmat/halves.glsl"                // operands of 16 bits.
#include "coopmat/globals.glsl"               // all mutable variables.
#include "coopmat/stage.glsl"                 // fetchTile, stageTile: 7.
#include "coopmat/deferred_scores.glsl"       // exponent, takeProbability.
#include "coopmat/elements_in_registers.glsl" // SCORE, makeProbabilities: 9.
#include "coopmat/output.glsl"                // normalize: 12, 13.
#include "coopmat/begin.glsl"                 // loadQueries: 4; clearState: 5.
#include "coopmat/scores.glsl"                // fetchBias; softcap, ALiBi and bias: 8.
#include "coopmat/softmax.glsl"               // masks, rescale: 9.
#include "coopmat/tile_walk.glsl"             // computeScores: 8, 9; the order of the tiles.

// Line 7: starts to load k of a tile.
void fetchKeys(const uint key_begin, const bool full) {
    UNROLL for (uint i = 0; i < (WHOLE_WORDS ? K_FETCHES : 0); i++) {
        fetched_k[i] = fetchWord(k, VKF_K, TYPE_K, key_begin, K_LOADS, i, full, thread);
    }
}

// Line 7: starts to load v of a tile.
void fetchValues(const uint key_begin, const bool full) {
    UNROLL for (uint i = 0; i < (WHOLE_WORDS ? V_FETCHES : 0); i++) {
        fetched_v[i] = fetchWord(v, VKF_V, TYPE_V, key_begin, V_LOADS, i, full, thread);
    }
}

// Moves k of a tile to shared memory.
void stageKeys(const uint key_begin) {
    if (!WHOLE_WORDS) {
        stageElements(k, VKF_K, TYPE_K, key_begin, HEAD_DIM, DIM_MATRICES * SLICE_WORDS, 0, K_ROW, false, thread);
        return;
    }
    UNROLL for (uint i = 0; i < K_FETCHES; i++) {
        uint index = i * WORKGROUP_SIZE + thread;
        if (TILE_KEYS * K_LOADS % WORKGROUP_SIZE == 0 || index < TILE_KEYS * K_LOADS) {
            stage[index / K_LOADS * K_ROW + index % K_LOADS] = fetched_k[i];
        }
    }
}

// Moves v of a tile to shared memory. In a partial tile, infinite values and NaN become zeros.
void stageValues(const uint key_begin, const bool full) {
    if (!WHOLE_WORDS) {
        stageElements(v, VKF_V, TYPE_V, key_begin, VALUE_DIM, VALUE_MATRICES * V_SLICE_WORDS, V_STAGE, V_ROW, !full,
                      thread);
        return;
    }
    UNROLL for (uint i = 0; i < V_FETCHES; i++) {
        uint index = i * WORKGROUP_SIZE + thread;
        uvec4 word = fetched_v[i];
        if (!full) {
            word = key_begin + tileKey(index / V_LOADS) < v.count ? finiteHalves(word) : uvec4(0);
        }
        if (TILE_KEYS * V_LOADS % WORKGROUP_SIZE == 0 || index < TILE_KEYS * V_LOADS) {
            stage[V_STAGE + index / V_LOADS * V_ROW + index % V_LOADS] = word;
        }
    }
}

// Lines 6 to 11 for the full tiles of [tile, last] if `full`, else for the partial tiles of that range. `fetched` and
// `following` are not used, because FETCHES_AHEAD is false here.
void attend(const Walk walk, uint tile, const uint last, const bool fetched, const uint following, const bool full) {
    fetchKeys(tile * TILE_KEYS, full); // 7, of the first tile
    fetchValues(tile * TILE_KEYS, full);
    stageKeys(tile * TILE_KEYS);
    stageValues(tile * TILE_KEYS, full);
    barrier();
    if (!full) {
        setMatrixKeys();
    }
    KEEP_LOOP for (;;) { // 6: for each tile j
        tile_begin = tile * TILE_KEYS;
        first_key = tile_begin + laneKey(lane);
        bool more = tile != last;
        tile = nextTile(walk, tile, full);
        IF_KEEPING_LOADS_HERE (more) { // 7: starts to load k_(j+1)
            fetchKeys(tile * TILE_KEYS, full);
        } else {
            FORGET(fetched_k, 0, K_FETCHES, uvec4(0));
        }
        computeScores(full); // 8, 9: s, m_i
        barrier();           // the readers of k_j are done
        if (more || WHOLE_WORDS) {
            stageKeys(tile * TILE_KEYS); // 7
        }
        IF_KEEPING_LOADS_HERE (more) { // 7: starts to load v_(j+1)
            fetchValues(tile * TILE_KEYS, full);
        } else {
            FORGET(fetched_v, 0, V_FETCHES, uvec4(0));
        }
        makeProbabilities(0, 0); // 9: p, l_i
        if (full || seesTile(0)) {
            accumulateOutput(0); // 10
        } else if (SPREADS_ROWS && seesTile(1)) {
            accumulateOutput(1);
        }
        barrier(); // the readers of v_j are done, and k_(j+1) is in its place
        if (!more) {
            break;
        }
        stageValues(tile * TILE_KEYS, full); // 7
    }
}

#include "coopmat/main.glsl"
