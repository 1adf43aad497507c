// SPDX-License-Identifier: MIT
//
// Kernels of the backward pass without a map of tiles: their hooks for lists (backward/tile_lists.glsl) are empty, and
// they leave the files of lists out. A variant with lists defines the include guard of this file (variants.json).
#ifndef VKF_NO_LISTS_GLSL
#define VKF_NO_LISTS_GLSL

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
