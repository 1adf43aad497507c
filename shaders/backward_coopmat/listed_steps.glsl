// SPDX-License-Identifier: MIT
//
// The steps of backward_sums.comp by lists (backward/tile_lists.glsl).
#ifndef VKF_LISTED_STEPS_GLSL
#define VKF_LISTED_STEPS_GLSL

#include "backward/tile_lists.glsl"

uint step_head; // number of the visited head among those of the item

// The list of the visited head has numbers of steps. A tile of rows has one in each band.
void openSteps() {
    uint band_keys = BAND_TILES * BAND_TILE_KEYS;
    openList(item.head + step_head, OWNS_KEYS ? 0 : band_begin / band_keys,
             OWNS_KEYS ? 1 : VKF_TILES(params.keys, band_keys), owned_begin / OWNED,
             VKF_TILES(OWNS_KEYS ? params.keys : params.query_rows, OWNED));
    walkList(0, seen_end);
}

// The next step with a seen pair; `count` if there is none. Each of `heads` visited heads has `steps` steps, from step
// `first` of its sequence on.
uint nextListedStep(const uint count, const uint heads, const uint steps, const uint first) {
    KEEP_LOOP while (OWNS_KEYS && walk_next >= walk_end && step_head + 1 < heads) {
        step_head++;
        openSteps();
    }
    bool found = walk_next < walk_end;
    uint tile = takeTile();
    return found ? step_head * steps + tile - first : count;
}

// The hooks of addVisited in backward_coopmat/backward_sums.comp. backward/without_lists.glsl has the same hooks for
// kernels without lists. `step` is the number of the step that a fetch found. It takes the place of each `number`.
#define STEP_NUMBER(number, step) step
#define BEGIN_STEPS                                                                                                    \
    next_step = 0;                                                                                                     \
    even_step = 0;                                                                                                     \
    odd_step = 0;                                                                                                      \
    step_head = 0;                                                                                                     \
    if (HAS_TILE_MAP) {                                                                                                \
        openSteps();                                                                                                   \
    }
#define SEEK_STEP(step)                                                                                                \
    step = HAS_TILE_MAP ? nextListedStep(count, heads, steps, begin / STEP) : next_step;                               \
    next_step = step + 1;

#endif
