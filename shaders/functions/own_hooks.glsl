// SPDX-License-Identifier: MIT
//
// The hooks of functions/hooks.glsl with the caller's functions in them. The compiler gives the text of
// functions/user.glsl, where missing functions change nothing. The text stands before everything else, so that it sees
// no name of the kernels.
#ifndef VKF_HOOKS_GLSL
#define VKF_HOOKS_GLSL

#include "functions/position.glsl"

#include "functions/user.glsl"

struct RowPosition {
    Position at;
};

// The pair of a row and a key. A key past the last one is the last one.
Position pairAt(Position at, const uint key) {
    at.key = min(int(key), at.keys - 1);
    return at;
}

// The pair for score. If the functions index no arrays, the key need not exist: nobody uses its score.
Position scoredPair(Position at, const uint key) {
    at.key = INDEXES_ARRAYS ? min(int(key), at.keys - 1) : int(key);
    return at;
}

#define OR_HAS_SCORE || HAS_SCORE
#define AND_NO_SCORE &&!HAS_SCORE
#define OR_HAS_KEEP || HAS_KEEP
#define AND_KEEPS(masks, key) &&user_keep(pairAt((masks).at, key))
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
#define TEST_KEEP(unmasked, masks, key) unmasked = unmasked && user_keep(pairAt((masks).at, key));
// The sequence whose map of tiles an item has (masks/tile_map.glsl).
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
        Position top = rowPosition(item, item.head, first_row);                                                        \
        Position bottom = rowPosition(item, item.head, first_row + rows - 1);                                          \
        uint left = first_key + thread * TILE_KEYS;                                                                    \
        uint right = left + TILE_KEYS - 1;                                                                             \
        bvec4 kept = bvec4(user_keep(pairAt(top, left)), user_keep(pairAt(top, right)),                                \
                           user_keep(pairAt(bottom, left)), user_keep(pairAt(bottom, right)));                         \
        atomicOr(seen_tiles, any(kept) ? 1u << thread : 0, OF_WORKGROUP);                                              \
        atomicOr(unmasked_tiles, all(kept) ? 1u << thread : 0, OF_WORKGROUP);                                          \
    }
#define ROW_POSITION_MEMBER Position at;
#define SKIP_UNLESS_KEPT(item, row, key)                                                                               \
    if (!user_keep(pairAt(rowPosition(item, (item).head, row), key))) {                                                \
        continue;                                                                                                      \
    }
#define OWN_ROW_POSITION RowPosition own_row;
#define ROW_POSITION_ARGUMENT(item, head, row) , rowPosition(item, head, row)
#define SET_ROW_POSITION(terms, item, head, row) terms.at = rowPosition(item, head, row);

// The map of tiles of the backward pass (backward/map_cells.glsl), and the lists of tiles that are made from it
// (backward/tile_lists.glsl). Owners of the bias look at the map, because they visit all sequences.
#define AND_NO_TILE_MAP &&!HAS_TILE_MAP
#define AND_SHARER_IS_SEEN &&(!HAS_TILE_MAP || tileBits(item, item.head, item.row_begin, key_begin).x)
#define AND_NOT_LISTED_AS_FULL                                                                                         \
    &&!(HAS_TILE_MAP && (OWNS_BIAS ? tileBits(item, item.head, item.row_begin, key_begin).y : walk_at < full_end))
// The walk of backward/walk.glsl, for which backward/listed_walk.glsl has another one.
#define OPEN_OTHER_TILES                                                                                               \
    if (HAS_TILE_MAP) {                                                                                                \
        openPart(OTHER_TILES);                                                                                         \
    }
#define NEXT_LISTED_OR(next) (HAS_TILE_MAP && !OWNS_BIAS ? nextListedTile(OTHER_TILES) : (next))
// The walks of backward_coopmat/backward_coopmat.comp.
#define OPEN_FULL_TILES                                                                                                \
    if (HAS_TILE_MAP) {                                                                                                \
        stopped_head = ALL_PARTIAL ? 0 : 0xffffffffu;                                                                  \
        openPart(FULL_TILES);                                                                                          \
    }
#define STOP_LISTED_TILES                                                                                              \
    if (HAS_TILE_MAP && OWNS_KEYS) {                                                                                   \
        stopped_head = item.head;                                                                                      \
        stopped_at = walk_at;                                                                                          \
    }
#define LEAVE_ALL_LISTED_TILES                                                                                         \
    stopped_head = 0;                                                                                                  \
    stopped_at = 0;
#define UNLESS_LISTED(found, full)                                                                                     \
    if (HAS_TILE_MAP) {                                                                                                \
        found = UNIFORM_BY_VOTE(nextListedTile(full ? FULL_TILES : OTHER_TILES));                                      \
    } else
#define STORE_EMPTY_TILES storeEmptyTiles();
// The steps of backward_coopmat/backward_sums.comp: `walk` is the step that a fetch found, in place of each number.
#define STEP_NUMBER(number, walk) walk
#define BEGIN_STEPS                                                                                                    \
    uint next_step = 0, even_step = 0, odd_step = 0;                                                                   \
    step_head = 0;                                                                                                     \
    if (HAS_TILE_MAP) {                                                                                                \
        openSteps();                                                                                                   \
    }
#define SEEK_STEP(walk)                                                                                                \
    walk = HAS_TILE_MAP ? nextListedStep(count, heads, steps, begin / STEP) : next_step;                               \
    next_step = walk + 1;

#endif
