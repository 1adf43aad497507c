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

#define OR_HAS_SCORE || HAS_SCORE
#define AND_NO_SCORE &&!HAS_SCORE
#define OR_HAS_KEEP || HAS_KEEP
#define AND_KEEPS(masks, key) &&user_keep(pairAt((masks).at, key))
#define SCORED(terms, key, s) user_score(s, pairAt((terms).at, key))
#define UNLESS_SCORED(scale) (HAS_SCORE ? 1.0 : (scale))
#define APPLY_SCORE                                                                                                    \
    if (HAS_SCORE) {                                                                                                   \
        applyScore();                                                                                                  \
    }
#define MULTIPLY_BY_DERIVATIVE(condition, ds, terms, key, s)                                                           \
    if (condition) {                                                                                                   \
        ds *= user_scoreDerivative(s, pairAt((terms).at, (terms).first_key + (key)));                                  \
    }
#define TEST_KEEP(unmasked, masks, key) unmasked = unmasked && user_keep(pairAt((masks).at, key));
// The sequence whose map of tiles an item has (masks/tile_map.glsl).
#define MAP_SEQUENCE(item) (TILE_MAP == VKF_MAP_OF_ALL ? 0u : (item).batch)
#define ROW_POSITION_MEMBER Position at;
#define SKIP_UNLESS_KEPT(item, row, key)                                                                               \
    if (!user_keep(pairAt(rowPosition(item, (item).head, row), key))) {                                                \
        continue;                                                                                                      \
    }
#define OWN_ROW_POSITION RowPosition own_row;
#define ROW_POSITION_ARGUMENT(item, head, row) , rowPosition(item, head, row)
#define SET_ROW_POSITION(terms, item, head, row) terms.at = rowPosition(item, head, row);

#endif
