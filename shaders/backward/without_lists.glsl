// SPDX-License-Identifier: MIT
//
// The hooks of backward/listed_walk.glsl and backward_coopmat/listed_steps.glsl for kernels of the backward pass
// without lists of tiles. They have no map of tiles either.
#ifndef VKF_WITHOUT_LISTS_GLSL
#define VKF_WITHOUT_LISTS_GLSL

#define AND_NO_TILE_MAP(condition) (condition)
#define AND_SHARER_IS_SEEN(condition) (condition)
#define AND_NOT_LISTED_AS_FULL(condition) (condition)
#define OPEN_OTHER_TILES
#define NEXT_LISTED_OR(next) next
#define OPEN_FULL_TILES
#define STOP_LISTED_TILES
#define LEAVE_ALL_LISTED_TILES
#define SEEK_LISTED_OR(found, full, seek_unlisted) seek_unlisted
#define STORE_EMPTY_TILES
#define STEP_NUMBER(number, step) number
#define BEGIN_STEPS
#define SEEK_STEP(step)

#endif
