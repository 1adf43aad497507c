// SPDX-License-Identifier: MIT
//
// The hooks of functions/hooks.glsl with the caller's functions in them. The compiler gives the text of
// functions/user.glsl, where missing functions change nothing. The text stands before everything else, so that it sees
// no name of the kernels.
#ifndef VKF_HOOKS_GLSL
#define VKF_HOOKS_GLSL

// All kernels with functions have lists of tiles (backward/tile_lists.glsl), because a mask of the caller's own may
// have a map of tiles.
#define VKF_TILE_LISTS

#include "functions/position.glsl"

#include "functions/user.glsl"

struct RowPair {
    Position at;
};

// The pair of a row and a key, from the row's pair with any key. A key past the last one is the last one.
Position pairAt(Position at, const uint key) {
    at.key = min(int(key), at.keys - 1);
    return at;
}

// The pair for score. If the functions index no arrays, the key need not exist: nobody uses its score.
Position scoredPair(Position at, const uint key) {
    at.key = INDEXES_ARRAYS ? min(int(key), at.keys - 1) : int(key);
    return at;
}

// Score
#define OR_SCORE(condition) ((condition) || HAS_SCORE)
#define AND_NO_SCORE(condition) ((condition) && !HAS_SCORE)
#define SCORED(terms, key, s) user_score(s, scoredPair((terms).at, key))
#define UNLESS_SCORED(scale) (HAS_SCORE ? 1.0 : (scale))
#define APPLY_SCORE                                                                                                    \
    if (HAS_SCORE) {                                                                                                   \
        applyScore();                                                                                                  \
    }
#define MULTIPLY_BY_DERIVATIVE(condition, ds, terms, key, s)                                                           \
    if (condition) {                                                                                                   \
        ds *= user_scoreDerivative(s, scoredPair((terms).at, (terms).first_key + (key)));                              \
    }

// Keep
#define OR_KEEP(condition) ((condition) || HAS_KEEP)
#define AND_KEEPS(condition, masks, key) ((condition) && user_keep(pairAt((masks).at, key)))
#define UNLESS_KEPT(item, row, key, statement)                                                                         \
    if (!user_keep(pairAt(pairAtFirstKey(item, (item).head, row), key))) {                                             \
        statement;                                                                                                     \
    }
#define TEST_KEEP(unmasked, masks, key) unmasked = unmasked && user_keep(pairAt((masks).at, key));

// Keep, in maps of tiles. MAP_SEQUENCE is the sequence whose map an item has (masks/tile_map.glsl).
#define MAP_SEQUENCE(item) (TILE_MAP == VKF_MAP_OF_ALL ? 0u : (item).batch)
// The map of a monotone mask, if it is the only mask that asks about single keys (masks/map_tiles.comp). It looks at
// the corners of each tile of keys. A function, because glslang 16 writes wrong specialization constants for one
// expression of it all.
#define DECLARE_BY_CORNERS                                                                                             \
    bool byCorners() {                                                                                                 \
        if (!KEEP_IS_MONOTONE) {                                                                                       \
            return false;                                                                                              \
        }                                                                                                              \
        return MASK_BITS == 0 && !HAS_DOCUMENTS && !HAS_BLOCK_MASK && FIRST_KEYS == 0 && !MAPS_HEADS;                  \
    }
#define UNLESS_BY_CORNERS(condition) (condition && !byCorners())
#define FIND_BY_CORNERS(thread)                                                                                        \
    if (byCorners() && thread < 32) {                                                                                  \
        Position top = pairAtFirstKey(item, item.head, first_row);                                                     \
        Position bottom = pairAtFirstKey(item, item.head, first_row + rows - 1);                                       \
        uint left = first_key + thread * TILE_KEYS;                                                                    \
        uint right = left + TILE_KEYS - 1;                                                                             \
        bvec4 kept = bvec4(user_keep(pairAt(top, left)), user_keep(pairAt(top, right)),                                \
                           user_keep(pairAt(bottom, left)), user_keep(pairAt(bottom, right)));                         \
        atomicOr(seen_tiles, any(kept) ? 1u << thread : 0, OF_WORKGROUP);                                              \
        atomicOr(unmasked_tiles, all(kept) ? 1u << thread : 0, OF_WORKGROUP);                                          \
    }

// Position
#define ROW_PAIR_MEMBER Position at;
#define WITH_ROW_PAIR(x, item, head, row) x, pairAtFirstKey(item, head, row)
#define DECLARE_ROW_PAIR(name) RowPair name;
#define SET_ROW_PAIR(terms, item, head, row) terms.at = pairAtFirstKey(item, head, row);

#endif
