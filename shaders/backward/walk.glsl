// SPDX-License-Identifier: MIT
//
// The work item of a kernel that recomputes scores, and the tiles that it visits, in a fixed order:
//   - A workgroup that owns rows visits tiles of keys.
//   - One that owns keys of a KV head visits the tiles of rows of its query heads, head by head. So dk and dv of the KV
//     head are summed in one order.
//   - One that owns elements of the bias visits the heads and sequences that share them, and tiles of rows where rows
//     share them too.
// Empty tiles under the window, the first keys and the block mask are not visited.
#ifndef VKF_WALK_GLSL
#define VKF_WALK_GLSL

#include "backward/bands.glsl"

TileMask mask;
ivec2 empty_keys;  // between the first keys and the window: no row of the owned tile sees them
uvec2 seeing_rows; // rows [x, y) of the head that may see an owned key
uint next_begin;   // of the next tile of rows or keys
uint end_head;     // one past the last head of an owner of keys
uint stored_keys;  // keys of the sequence in the tensors; key lengths do not shorten them
uint own_batch;    // batch of the owned elements of the bias
uint own_head;
bool turned; // the walk has turned to another head or sequence

#ifdef VKF_TILE_LISTS
#include "backward/listed_walk.glsl"
#else
#include "backward/without_lists.glsl"
#endif

#define VKF_END_OF_KEYS (key_begin + TILE_KEYS)

// Work items count tiles of keys fastest, then KV heads, then sequences; in bands as bands.glsl says.
void beginKeys(const uint number) {
    uint heads = VKF_BACKWARD_TABLE.kv_heads;
    uint tiles = PACKED_SEQUENCES ? VKF_BACKWARD_TABLE.key_tile_count : VKF_TILES(params.keys, TILE_KEYS);
    uint head = number / tiles;
    uint tile = number - head * tiles;
    if (STORES_DS) {
        Band band = bandOf(number, BAND_TILES * BAND_HEADS, tiles);
        head = band.first_head + band.rest % BAND_HEADS;
        tile = VKF_TILE_OF_BANDS(band.number, BAND_TILES, band.rest / BAND_HEADS);
    }
    uint sequence = head / heads;
    if (PACKED_SEQUENCES) {
        sequence = Word(add64(VKF_BACKWARD_TABLE.key_tile_sequences, multiply64(tile, 4))).value;
    }
    item = itemOfSequence(sequence);
    stored_keys = params.keys;
    if (PACKED_SEQUENCES) {
        uvec2 keys = boundsOf(VKF_BACKWARD_TABLE.call.key_starts, sequence, params.keys);
        stored_keys = keys.y - keys.x;
        tile -= VKF_FIRST_SEQUENCE_TILE(keys.x, 1, TILE_KEYS, sequence);
    }
    item.kv_head = head % heads;
    item.head = item.kv_head * KV_HEAD_QUERY_HEADS;
    key_begin = tile * TILE_KEYS;
    seeing_rows = rowsThatSee(item, key_begin, VKF_END_OF_KEYS);
    end_head = item.head + (seeing_rows.x < seeing_rows.y ? KV_HEAD_QUERY_HEADS : 0);
}

// Work items count tiles of keys fastest, then rows, heads and sequences of dbias.
void beginBias(const uint number) {
    uint key_tiles = VKF_TILES(VKF_BACKWARD_TABLE.call.longest_keys, TILE_KEYS);
    uint rows = VKF_BACKWARD_TABLE.bias_rows;
    uint row_tiles = VKF_TILES(rows, TILE_ROWS);
    uint rest = number / key_tiles;
    key_begin = (number - rest * key_tiles) * TILE_KEYS;
    own_head = rest / row_tiles % VKF_BACKWARD_TABLE.bias_heads;
    own_batch = rest / row_tiles / VKF_BACKWARD_TABLE.bias_heads;
    next_begin = rest % row_tiles * TILE_ROWS;
    seeing_rows = uvec2(next_begin, rows == 1 ? 0xffffffffu : next_begin + 1); // only tiles of these rows
    item = itemOfSequence(own_batch);
    item.head = own_head;
    item.kv_head = own_head / KV_HEAD_QUERY_HEADS;
}

// Sets the walk of an owner of rows or keys before its first tile, in the item that it has.
void rewindWalk() {
    if (OWNS_KEYS) {
        item.head = item.kv_head * KV_HEAD_QUERY_HEADS;
        next_begin = seeing_rows.x / TILE_ROWS * TILE_ROWS;
    } else {
        beginBlocks(item);
        next_begin = uint(mask.any.x) / TILE_KEYS * TILE_KEYS;
    }
    turned = true;
    OPEN_OTHER_TILES
}

// Sets the item, and the walk before its first tile. Returns whether there is anything to write.
bool beginWalk(const uint number) {
    if (OWNS_BIAS) {
        beginBias(number);
        turned = true;
        return true;
    }
    if (OWNS_KEYS) {
        beginKeys(number);
        if (key_begin >= stored_keys) {
            return false; // a tile of packed sequences without rows
        }
    } else {
        item = itemOf(number);
        if (isIdle(item)) {
            return false;
        }
        mask = tileMask(item);
        empty_keys = unseenKeys(item);
    }
    rewindWalk();
    return true;
}

// Whether some row of the item's tile may see a key of the tile of keys.
bool isSeen() {
    beginBlocks(item);
    mask = tileMask(item);
    uint tile = key_begin / TILE_KEYS;
    return (int(key_begin) < mask.any.y) && (int(VKF_END_OF_KEYS) > mask.any.x) &&
           (!HAS_BLOCK_MASK || openTile(tile, tile + 1) == tile);
}

bool nextKeyTile() {
    key_begin = next_begin;
    if (FIRST_KEYS != 0 && int(key_begin) >= empty_keys.x) {
        key_begin = max(key_begin, uint(empty_keys.y) / TILE_KEYS * TILE_KEYS);
    }
    if (HAS_BLOCK_MASK) {
        key_begin = openTile(key_begin / TILE_KEYS, (uint(max(mask.any.y, 0)) + TILE_KEYS - 1) / TILE_KEYS) * TILE_KEYS;
    }
    next_begin = key_begin + TILE_KEYS;
    return mask.any.x < mask.any.y && int(key_begin) < mask.any.y;
}

bool nextRowTile() {
    KEEP_LOOP while (item.head < end_head) {
        if (next_begin < seeing_rows.y) {
            item.row_begin = next_begin;
            next_begin += TILE_ROWS;
            if (isSeen() || STORES_DS) { // ds of every tile in between is stored
                return true;
            }
        } else {
            item.head++;
            turned = true;
            next_begin = seeing_rows.x / TILE_ROWS * TILE_ROWS;
        }
    }
    return false;
}

// Turns to the next head or sequence that shares the owned elements of the bias.
void selectSharer() {
    uint head = item.head + VKF_BACKWARD_TABLE.bias_heads;
    uint sequence = item.batch;
    if (head >= QUERY_HEADS) {
        head = own_head;
        sequence += VKF_BACKWARD_TABLE.bias_sequences;
    }
    if (sequence < VKF_BACKWARD_TABLE.call.sequences) {
        item = itemOfSequence(sequence);
        item.kv_head = head / KV_HEAD_QUERY_HEADS;
    }
    item.batch = sequence;
    item.head = head;
}

bool nextSharer() {
    KEEP_LOOP while (item.batch < VKF_BACKWARD_TABLE.call.sequences) {
        if (next_begin < min(seeing_rows.y, SEQUENCE_ROWS(item))) {
            item.row_begin = next_begin;
            next_begin += TILE_ROWS;
            if (AND_SHARER_IS_SEEN(key_begin < item.keys && isSeen())) {
                return true;
            }
        } else {
            selectSharer();
            turned = true;
            next_begin = seeing_rows.x;
        }
    }
    return false;
}

// Turns to the next tile. Returns false behind the last one. All invocations of the workgroup get the same result.
bool nextTile() {
    return NEXT_LISTED_OR(OWNS_KEYS ? nextRowTile() : OWNS_BIAS ? nextSharer() : nextKeyTile());
}

// Whether masks must test each pair of the tile.
bool isPartialTile() {
    return AND_NOT_LISTED_AS_FULL(BLOCKS_CROSS_TILES || HAS_PER_KEY_MASKS) ||
           isPartial(mask, key_begin, VKF_END_OF_KEYS);
}

#endif
