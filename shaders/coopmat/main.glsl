// SPDX-License-Identifier: MIT
//
// The main function of the kernels of path coopmat on matrices. attention_coopmat.comp explains them.
#ifndef VKF_COOPMAT_MAIN_GLSL
#define VKF_COOPMAT_MAIN_GLSL

void main() {
    thread = threadIndex();
    subgroup = thread / LANES;
    lane = thread % LANES;
    item = itemOf(params.first_item + gl_WorkGroupID.x); // 3
    if (isIdle(item)) {
        return;
    }
    if (!takeMappedTile(item)) {
        return;
    }
    first_row = item.row_begin + subgroup * SUBGROUP_STEP;
    q = halfRowsOf(params.q, VKF_Q, item, SEQUENCE_ROWS(item));
    k = halfRowsOf(params.k, VKF_K, item, item.keys);
    v = halfRowsOf(params.v, VKF_V, item, item.keys);
    watchSpecialValues();
    beginBlocks(item);
    setSlopes();
    setBiasFactors();
    beginBias(thread);
    setDropout();
    loadQueries(); // 4
    clearState();  // 5
    TileMask mask = tileMask(item);
    bool sees_keys = mask.any.x < mask.any.y;
    Walk walk = walkOf(mask);
    uint passed_over = PASSES_EMPTY_TILES && !STEPS_OVER_EMPTY_TILES ? walk.full_end - walk.full_first : 0;
    uvec2 steps = shareOfSplit(item, walk.end - walk.first - passed_over) + passed_over;
    if (STEPS_OVER_EMPTY_TILES) {
        walk = splitOf(walk, steps);
    }
    if (FETCHES_EARLY && sees_keys) {
        uvec2 tiles = firstTiles(walk, steps);
        if (tiles.x < tiles.y) {
            fetchTile(k, v, tiles.x * TILE_KEYS, FULL_TILES_FIRST, thread); // 7
        }
    }
    barrier();
    if (CLEARS_STAGE) {
        clearStage(thread);
        barrier();
    }
    if (sees_keys) {
        bool fetched = false;
        uvec2 tiles = firstTiles(walk, steps);
        if (tiles.x < tiles.y) {
            uint following = FETCHES_AHEAD ? firstIfComplete(secondTiles(walk, steps)) : NO_TILE;
            attend(walk, tiles.x, tiles.y - 1, FETCHES_EARLY, following, FULL_TILES_FIRST); // 6 to 11
            fetched = following != NO_TILE;
        }
        tiles = secondTiles(walk, steps);
        if (tiles.x < tiles.y) {
            attend(walk, tiles.x, tiles.y - 1, fetched, NO_TILE, !FULL_TILES_FIRST);
        }
    }
    endSpecialValues();
    writeResults(); // 12 to 15
}

#endif
