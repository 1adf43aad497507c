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

// The backward pass: without functions it has no map, so that it leaves these files out.
#define VKF_TILE_LISTS_GLSL   // backward/tile_lists.glsl
#define VKF_LISTED_WALK_GLSL  // backward/listed_walk.glsl
#define VKF_EMPTY_TILES_GLSL  // backward_coopmat/empty_tiles.glsl
#define VKF_LISTED_STEPS_GLSL // backward_coopmat/listed_steps.glsl
#define AND_NO_TILE_MAP
#define AND_SHARER_IS_SEEN
#define AND_NOT_LISTED_AS_FULL
#define OPEN_OTHER_TILES
#define NEXT_LISTED_OR(next) next
#define OPEN_FULL_TILES
#define STOP_LISTED_TILES
#define LEAVE_ALL_LISTED_TILES
#define UNLESS_LISTED(found, full)
#define STORE_EMPTY_TILES
#define STEP_NUMBER(number, walk) number
#define BEGIN_STEPS
#define SEEK_STEP(walk)

#endif
