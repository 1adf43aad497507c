// SPDX-License-Identifier: MIT
//
// The caller's own masks and scores (include/vkflash/functions.h), which a kernel has if it is compiled with
// VKF_FUNCTIONS. Without it all macros of this file leave the kernel as it is, to the last bit.
//
// The compiler (src/functions/) gives the text of functions/user.glsl. It also defines VKF_USER_SCORE, VKF_USER_KEEP and
// VKF_USER_SCORE_DERIVATIVE for the functions that the text has. The text stands before everything else, so that it
// sees no name of the kernels. functions/positions.glsl has what needs the kernel's own types.
#ifndef VKF_HOOKS_GLSL
#define VKF_HOOKS_GLSL

#ifdef VKF_FUNCTIONS

// A pair of a query row and a key. Row and key are positions among the keys of the sequence, as causal masks count them.
struct Position {
    int batch; // sequence
    int head;  // query head
    int kvHead;
    int row;  // with bottom-right alignment: number of the row + keys - rows
    int key;  // number of the key
    int rows; // of the sequence
    int keys;
};

// Elements of the caller's arrays.
float functionF32(const uint array, const int i);
float functionF16(const uint array, const int i);
float functionBf16(const uint array, const int i);
int functionI32(const uint array, const int i);
int functionU8(const uint array, const int i);

#include "functions/user.glsl"

#ifdef VKF_USER_SCORE
const bool HAS_SCORE = true;
#else
const bool HAS_SCORE = false;
float user_score(const float s, const Position at) {
    return s;
}
#endif

#ifdef VKF_USER_KEEP
const bool HAS_KEEP = true;
#else
const bool HAS_KEEP = false;
bool user_keep(const Position at) {
    return true;
}
#endif

#ifndef VKF_USER_SCORE_DERIVATIVE
float user_scoreDerivative(const float s, const Position at) {
    return 1.0;
}
#endif

// The pair of a row and a key. A key past the last one is the last one.
Position pairAt(Position at, const uint key) {
    at.key = min(int(key), at.keys - 1);
    return at;
}

#define OR_HAS_SCORE || HAS_SCORE
#define AND_NO_SCORE && !HAS_SCORE
#define OR_HAS_KEEP || HAS_KEEP
#define AND_KEEPS(masks, key) && user_keep(pairAt((masks).at, key))
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
#define ROW_POSITION_MEMBER Position at;
#define SKIP_UNLESS_KEPT(item, row, key)                                                                               \
    if (!user_keep(pairAt(rowPosition(item, (item).head, row), key))) {                                                \
        continue;                                                                                                      \
    }
#define OWN_ROW_POSITION                                                                                               \
    struct OwnRow {                                                                                                    \
        Position at;                                                                                                   \
    } own_row;
#define ROW_POSITION_ARGUMENT(item, head, row) , rowPosition(item, head, row)
#define SET_ROW_POSITION(terms, item, head, row) terms.at = rowPosition(item, head, row);

#else

#define OR_HAS_SCORE
#define AND_NO_SCORE
#define OR_HAS_KEEP
#define AND_KEEPS(masks, key)
#define SCORED(terms, key, s) s
#define UNLESS_SCORED(scale) scale
#define APPLY_SCORE
#define MULTIPLY_BY_DERIVATIVE(condition, ds, terms, key, s)
#define TEST_KEEP(unmasked, masks, key)
#define ROW_POSITION_MEMBER
#define OWN_ROW_POSITION
#define SKIP_UNLESS_KEPT(item, row, key)
#define ROW_POSITION_ARGUMENT(item, head, row)
#define SET_ROW_POSITION(terms, item, head, row)

#endif

#endif
