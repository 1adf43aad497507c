// SPDX-License-Identifier: MIT
//
// Where masks and scores of the caller's own enter a kernel (include/vkflash/functions.h). These hooks are empty: they
// leave the kernel as it is, to the last bit. To compile a kernel with functions, the compiler (src/functions/) takes
// functions/own_hooks.glsl in place of this file.
#ifndef VKF_HOOKS_GLSL
#define VKF_HOOKS_GLSL

#include "functions/position.glsl"

#define OR_HAS_SCORE
#define AND_NO_SCORE
#define OR_HAS_KEEP
#define AND_KEEPS(masks, key)
#define SCORED(terms, key, s) s
#define UNLESS_SCORED(scale) scale
#define APPLY_SCORE
#define MULTIPLY_BY_DERIVATIVE(condition, ds, terms, key, s)
#define TEST_KEEP(unmasked, masks, key)
#define MAP_SEQUENCE(item) item.batch
#define DECLARE_BY_CORNERS
#define UNLESS_BY_CORNERS(condition) condition
#define FIND_BY_CORNERS(thread)
#define ROW_POSITION_MEMBER
#define OWN_ROW_POSITION
#define SKIP_UNLESS_KEPT(item, row, key)
#define ROW_POSITION_ARGUMENT(item, head, row)
#define SET_ROW_POSITION(terms, item, head, row)

#endif
