// SPDX-License-Identifier: MIT
//
// The full tiles of the walk: all rows of the tile see all of its keys. They lie side by side, so the walk steps from
// one to the next without a look at windows. It takes them first. An empty row makes its tile a partial one. The walk
// notices that when the tile is in shared memory, and leaves this tile and all later ones to the walk over partial
// tiles.
//
// Needs: backward/walk.glsl, VKF_VISITED_BEGIN.
// Provides: ALL_PARTIAL, full_places, stop_head, beginFullTiles, nextFullTile, stopFullTiles, endOfFullTiles, wasFull.
#ifndef VKF_FULL_TILES_GLSL
#define VKF_FULL_TILES_GLSL

// No tile is full then: masks test each pair, or rows are no whole words. With a loop for full tiles, NVIDIA's compiler
// loses all sums of some kernels for such rows (docs/portability.md).
const bool ALL_PARTIAL = BLOCKS_CROSS_TILES || HAS_PER_KEY_MASKS || !WHOLE_WORDS;

// Rows or keys [x, y) of the full tiles of a head. A block mask may close some of these tiles.
uvec2 full_places;

// The tile of rows at which the walk over full tiles stopped: its head and first row.
uint stop_head, stop_begin;

// The last tile may have rows past the last one, which do not count.
uvec2 fullRows() {
    int rows = int(SEQUENCE_ROWS(item));
    ivec2 full = ivec2(0, VKF_END_OF_KEYS <= item.keys ? rows : 0);
    if (HAS_WINDOW) {
        full.x = VKF_SEEING_BEGIN(int(VKF_END_OF_KEYS) - 1, item.offset, WINDOW_RIGHT);
        full.y = min(VKF_SEEING_END(int(key_begin), item.offset, WINDOW_LEFT) + 1, full.y);
    }
    bool to_the_end = full.y == rows;
    uvec2 tiles = (uvec2(max(full, ivec2(0))) + uvec2(TILE_ROWS - 1, to_the_end ? TILE_ROWS - 1 : 0)) / TILE_ROWS;
    return tiles * TILE_ROWS;
}

uvec2 fullKeys() {
    return (uvec2(max(mask.all, ivec2(0))) + uvec2(TILE_KEYS - 1, 0)) / TILE_KEYS * TILE_KEYS;
}

// Sets the walk before its first full tile.
void beginFullTiles() {
    full_places = ALL_PARTIAL ? uvec2(0) : OWNS_KEYS ? fullRows() : fullKeys();
    next_begin = full_places.x;
    stop_head = 0xffffffffu;
    stop_begin = 0;
}

// Leaves the walk's tile and all later ones to the walk over partial tiles.
void stopFullTiles() {
    if (OWNS_KEYS) {
        stop_head = item.head;
        stop_begin = item.row_begin;
    }
}

// One past the last place of the walk's head that the walk over full tiles took.
uint endOfFullTiles() {
    return item.head < stop_head ? full_places.y : item.head == stop_head ? min(stop_begin, full_places.y) : 0;
}

bool wasFull() {
    return VKF_VISITED_BEGIN >= full_places.x && VKF_VISITED_BEGIN < endOfFullTiles();
}

// Moves the walk to its next full tile, open or closed.
bool stepToFullTile() {
    if (OWNS_KEYS && KV_HEAD_QUERY_HEADS > 1 && next_begin >= full_places.y && item.head + 1 < end_head) {
        item.head++;
        turned = true;
        next_begin = full_places.x;
    }
    bool found = next_begin < full_places.y;
    if (OWNS_KEYS) {
        item.row_begin = next_begin;
    } else {
        key_begin = next_begin;
    }
    next_begin += VISITED;
    return found;
}

// Moves the walk to its next full tile. Returns false behind the last one. All invocations of the workgroup get the
// same result.
bool nextFullTile() {
    bool found = false;
    if (!HAS_BLOCK_MASK) {
        found = stepToFullTile();
    }
    KEEP_LOOP while (HAS_BLOCK_MASK && !found && stepToFullTile()) {
        found =
            OWNS_KEYS ? isSeen() : openTile(key_begin / VISITED, key_begin / VISITED + 1) * VISITED == key_begin;
    }
    return found;
}

#endif
