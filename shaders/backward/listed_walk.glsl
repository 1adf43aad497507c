// SPDX-License-Identifier: MIT
//
// The walk of backward/walk.glsl by lists (backward/tile_lists.glsl).
#ifndef VKF_LISTED_WALK_GLSL
#define VKF_LISTED_WALK_GLSL

#include "backward/tile_lists.glsl"

// The part of lists that a walk takes.
const uint FULL_TILES = 0;
const uint OTHER_TILES = 1; // partial ones, and full ones that a walk over full tiles left
const uint EMPTY_TILES = 2; // empty ones that others may read

// Where the walk over listed full tiles stopped: a head, and a position in its list. All tiles of later heads are left
// too.
uint list_stop_head = 0;
uint list_stop_position = 0;

// Opens the list of the walk's head.
void openPart(const uint part) {
    uint owned_tile = OWNS_KEYS ? key_begin / TILE_KEYS : item.row_begin / TILE_ROWS;
    uint owned_tiles = OWNS_KEYS ? VKF_TILES(params.keys, TILE_KEYS) : VKF_TILES(params.query_rows, TILE_ROWS);
    openList(item.head, 0, 1, owned_tile, owned_tiles);
    uint left = item.head < list_stop_head ? full_end : item.head == list_stop_head ? list_stop_position : 0;
    walkList(part == FULL_TILES    ? 0
             : part == OTHER_TILES ? left
                                   : seen_end,
             part == FULL_TILES    ? full_end
             : part == OTHER_TILES ? seen_end
                                   : read_end);
}

bool isBehindHead() {
    return OWNS_KEYS && walk_next >= walk_end && item.head + 1 < end_head;
}

void openNextHead(const uint part) {
    item.head++;
    turned = true;
    openPart(part);
}

// Moves the walk to its next tile of a part. Returns false behind the last one. All invocations of the workgroup get
// the same result. Heads that share a map have equal lists, so the walk over full tiles turns at most once, and needs
// no loop.
bool nextListedTile(const uint part) {
    const bool equal_lists = part == FULL_TILES && TILE_MAP != VKF_MAP_BY_HEAD;
    if (equal_lists && isBehindHead()) {
        openNextHead(part);
    }
    KEEP_LOOP while (!equal_lists && isBehindHead()) {
        openNextHead(part);
    }
    bool found = walk_next < walk_end;
    uint tile = takeTile();
    if (OWNS_KEYS) {
        item.row_begin = found ? tile * TILE_ROWS : item.row_begin;
    } else {
        key_begin = found ? tile * TILE_KEYS : key_begin;
    }
    if (OWNS_KEYS && part == OTHER_TILES) {
        beginBlocks(item);
        mask = tileMask(item);
    }
    return found;
}

// The hooks of kernels with lists. backward/without_lists.glsl has the same hooks for kernels without lists. Owners of
// the bias look at the map, because they visit all sequences.
#define AND_NO_TILE_MAP(condition) ((condition) && !HAS_TILE_MAP)
#define AND_SHARER_IS_SEEN(condition)                                                                                  \
    ((condition) && (!HAS_TILE_MAP || tileBits(item, item.head, item.row_begin, key_begin).x))
#define AND_NOT_LISTED_AS_FULL(condition)                                                                              \
    ((condition) &&                                                                                                    \
     !(HAS_TILE_MAP && (OWNS_BIAS ? tileBits(item, item.head, item.row_begin, key_begin).y : walk_at < full_end)))
// In backward/walk.glsl:
#define OPEN_OTHER_TILES                                                                                               \
    if (HAS_TILE_MAP) {                                                                                                \
        openPart(OTHER_TILES);                                                                                         \
    }
#define NEXT_LISTED_OR(next) (HAS_TILE_MAP && !OWNS_BIAS ? nextListedTile(OTHER_TILES) : (next))
// In backward_coopmat/backward_coopmat.comp:
#define OPEN_FULL_TILES                                                                                                \
    if (HAS_TILE_MAP) {                                                                                                \
        list_stop_head = ALL_PARTIAL ? 0 : 0xffffffffu;                                                                \
        openPart(FULL_TILES);                                                                                          \
    }
#define STOP_LISTED_TILES                                                                                              \
    if (HAS_TILE_MAP && OWNS_KEYS) {                                                                                   \
        list_stop_head = item.head;                                                                                    \
        list_stop_position = walk_at;                                                                                  \
    }
#define LEAVE_ALL_LISTED_TILES                                                                                         \
    list_stop_head = 0;                                                                                                \
    list_stop_position = 0;
#define SEEK_LISTED_OR(found, full, seek_unlisted)                                                                     \
    if (HAS_TILE_MAP) {                                                                                                \
        found = UNIFORM_BY_VOTE(nextListedTile(full ? FULL_TILES : OTHER_TILES));                                      \
    } else {                                                                                                           \
        seek_unlisted                                                                                                  \
    }
#define STORE_EMPTY_TILES storeEmptyTiles();

#endif
