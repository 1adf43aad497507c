// SPDX-License-Identifier: MIT
//
// Where masks and scores of the caller's own enter a kernel (include/vkflash/functions.h). These hooks are neutral:
// they leave the kernel as it is, to the last bit. The comments beside them say how. To compile a kernel with
// functions, the compiler (src/functions/) takes functions/own_hooks.glsl in place of this file.
#ifndef VKF_HOOKS_GLSL
#define VKF_HOOKS_GLSL

#include "functions/position.glsl"

// Score: the caller's function of a score, which needs the final score.
#define OR_SCORE(condition) (condition)                      // or false: there is no such function
#define AND_NO_SCORE(condition) (condition)                  // and true
#define SCORED(terms, key, s) s                              // the score itself
#define UNLESS_SCORED(scale) scale                           // the scale; it is 1 where APPLY_SCORE has applied it
#define APPLY_SCORE                                          // changes no score
#define MULTIPLY_BY_DERIVATIVE(condition, ds, terms, key, s) // times 1

// Keep: the caller's mask, one more per-key mask.
#define OR_KEEP(condition) (condition)               // or false: there is no such mask
#define AND_KEEPS(condition, masks, key) (condition) // and true
#define TEST_KEEP(unmasked, masks, key)              // the mask hides no key
#define UNLESS_KEPT(item, row, key, statement)       // so the statement never runs
#define MAP_SEQUENCE(item) item.batch                // each sequence has a map of tiles of its own
#define DECLARE_BY_CORNERS                           // no map of tiles is made from the corners of tiles
#define UNLESS_BY_CORNERS(condition) condition       // and true
#define FIND_BY_CORNERS(thread)                      // finds nothing

// Position: the pair of a row and the first key, from which the functions get their pairs.
#define ROW_PAIR_MEMBER                      // no pair
#define WITH_ROW_PAIR(x, item, head, row) x  // x alone
#define DECLARE_ROW_PAIR(name)               // no pair
#define SET_ROW_PAIR(terms, item, head, row) // no pair

#endif
