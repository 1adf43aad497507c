// SPDX-License-Identifier: MIT
//
// Makes the map of tiles (tile_map.glsl) before attention begins. A workgroup makes one word of the map: one tile of
// rows and 32 tiles of keys. It looks at the masks first, and at the bias last (masks/map_pairs.glsl).
//
// For the masks, the workgroup works on runs of keys. A run has as many keys as a word of 4 bytes has elements of
// the boolean mask. A flag of a key is one bit, at the key's element: the highest bit of a byte, or the
// bit itself. An invocation takes some rows of a run (masks/map_pairs.glsl).
//
// Pairs outside the visible ranges of the rows are not seen, and may be masked.
//
// Four cases need no test of single rows:
//   - The documents of all keys of the run lie outside the range of the documents of the rows.
//   - All rows of the tile and all keys of the run have one document, and there is neither another per-key mask nor a
//     block mask.
//   - First keys are the only mask. Both ends of the gap between them and a row's window grow with the row, so the
//     first and the last row of the tile say all.
//   - The only mask is one of the caller's own, and it is monotone. Then the corners of a tile of keys say all
//     (FIND_BY_CORNERS in functions/own_hooks.glsl).
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_memory_scope_semantics : require

#include "common/compilers.glsl"
#include "common/params.glsl"

layout(constant_id = VKF_ID_MAP_TILE_ROWS) const uint TILE_ROWS = 64; // of the attention kernel
layout(constant_id = VKF_ID_MAP_TILE_KEYS) const uint TILE_KEYS = 64;

#include "common/address.glsl"
#include "common/item.glsl"
#include "masks/mask.glsl"
#include "masks/block_mask.glsl"
#include "masks/per_key_masks.glsl"
#include "masks/tile_map.glsl"

const uint FLAG_BITS = MASK_BITS == 1 ? 1 : 8; // distance from the flag of a key to the flag of the next key
const uint RUN_KEYS = 32 / FLAG_BITS;
const uint ALL_FLAGS = MASK_BITS == 1 ? 0xffffffffu : 0x80808080u;
const uint RUNS = MAP_WORD_KEYS / RUN_KEYS;
const uint ROW_LANES = VKF_MAX_WORDS(WORKGROUP_SIZE / RUNS, 1); // invocations that share a run
const uint ROWS_AT_ONCE = 8;
const bool HAS_MASKS = HAS_PER_KEY_MASKS || HAS_BLOCK_MASK;
const bool MAPS_HEADS = TILE_MAP == VKF_MAP_BY_HEAD;

// Scope and semantics of atomic operations on shared memory. Every device with Vulkan's memory model has this scope.
#define OF_WORKGROUP gl_ScopeWorkgroup, 0, gl_SemanticsRelaxed

shared uint seen_flags[RUNS];
shared uint unmasked_flags[RUNS];
shared uint smallest_document; // of the rows of the tile
shared uint largest_document;
shared uint seen_tiles;
shared uint unmasked_tiles;

Item item;
TileMask mask;
uint first_row; // first row of the tile: a packed row if each head has its own mask, else a query row
uint rows;      // number of rows
uint first_key; // of the word

uint queryRowOf(const uint index) {
    return MAPS_HEADS ? queryRow(first_row + index) : first_row + index;
}

uint queryHeadOf(const uint index) {
    return MAPS_HEADS ? queryHead(item, first_row + index) : item.head;
}

void beginItem() {
    uint number = params.first_item + gl_WorkGroupID.x;
    uint word = number % mapWords();
    number /= mapWords();
    item.row_begin = number % mapRowTiles() * TILE_ROWS;
    number /= mapRowTiles();
    item.head = number % mapHeads() * PACKED_HEADS;
    item.batch = number / mapHeads();
    item.keys = keysOf(item.batch);
    item.offset = offsetOf(item);
    uint end = min(item.row_begin + TILE_ROWS, packedRows(item));
    first_row = MAPS_HEADS ? item.row_begin : queryRow(item.row_begin);
    rows = (MAPS_HEADS ? end : queryRow(end - 1) + 1) - first_row;
    first_key = word * MAP_WORD_KEYS;
    mask = tileMask(item);
    beginBlocks(item);
}

#include "masks/map_pairs.glsl"

DECLARE_BY_CORNERS

// The keys of a run that lie between the first keys and the window: of any row of the tile, and of all its rows.
uvec2 gapFlags(const uint key) {
    RowMasks first = rowMasks(item, queryHeadOf(0), queryRowOf(0));
    RowMasks last = rowMasks(item, queryHeadOf(rows - 1), queryRowOf(rows - 1));
    return uvec2(flagsOf(int(first.first_keys) - int(key), last.window.x - int(key)),
                 flagsOf(int(last.first_keys) - int(key), first.window.x - int(key)));
}

const uint OF_ALL_ROWS = 0;  // all rows and all keys of the run have one document
const uint OF_NO_ROW = 1;    // no key of the run has the document of a row
const uint OF_SOME_ROWS = 2; // neither of these is certain

uint documentOf(const uint key) {
    uvec2 documents = add64(VKF_TABLE_ADDRESS(documents), multiply64(item.batch, params.keys * 4));
    return Word(add64(documents, uvec2(min(key, item.keys - 1) * 4, 0))).value;
}

// How the documents of the keys of a run relate to the documents of the rows: OF_ALL_ROWS, OF_NO_ROW, OF_SOME_ROWS.
uint documentsOf(const uint key) {
    if (!HAS_DOCUMENTS) {
        return OF_ALL_ROWS;
    }
    bool of_all = true;
    bool of_none = true;
    UNROLL for (uint i = 0; i < RUN_KEYS; i++) {
        uint document = documentOf(key + i);
        of_all = of_all && document == smallest_document && document == largest_document;
        of_none = of_none && (document < smallest_document || document > largest_document);
    }
    return of_none ? OF_NO_ROW : of_all ? OF_ALL_ROWS : OF_SOME_ROWS;
}

// Adds the rows of one invocation to the flags of a run. ROW_LANES invocations share a run.
void addRun(const uint run, const uint lane) {
    uint key = first_key + run * RUN_KEYS;
    ivec2 any = mask.any - int(key);
    uint in_range = flagsOf(any.x, any.y);
    if (in_range == 0) {
        return;
    }
    uint documents = documentsOf(key);
    if (documents == OF_NO_ROW) {
        atomicAnd(unmasked_flags[run], 0, OF_WORKGROUP);
    } else if (OR_KEEP((MASK_BITS != 0 && (!MASKS_LAST_KEYS || mayBeMasked(item, key + RUN_KEYS))) || HAS_BLOCK_MASK) ||
               documents == OF_SOME_ROWS) {
        addRows(run, key, lane, documents == OF_SOME_ROWS);
    } else if (FIRST_KEYS != 0) {
        uvec2 gap = gapFlags(key);
        atomicAnd(unmasked_flags[run], ~gap.x, OF_WORKGROUP);
        atomicOr(seen_flags[run], in_range & ~gap.y, OF_WORKGROUP);
    } else {
        atomicOr(seen_flags[run], in_range, OF_WORKGROUP);
    }
}

// Finds the smallest and the largest document of the rows. A row has the document of the key at its position. A row
// before the first key has no document; for it, the range of documents becomes the largest possible.
void findDocuments(const uint thread) {
    int offset = int(item.keys) - int(params.query_rows);
    for (uint i = thread; i < rows; i += WORKGROUP_SIZE) {
        int position = int(queryRowOf(i)) + offset;
        if (position >= 0) {
            uint document = documentOf(uint(position));
            atomicMin(smallest_document, document, OF_WORKGROUP);
            atomicMax(largest_document, document, OF_WORKGROUP);
        } else {
            atomicMin(smallest_document, 0u, OF_WORKGROUP);
            atomicMax(largest_document, 0xffffffffu, OF_WORKGROUP);
        }
    }
}

// Sets the bits of a tile of keys from the flags of its runs.
void joinTile(const uint tile) {
    uint begin = tile * TILE_KEYS;
    uint end = begin + TILE_KEYS;
    bool seen = false;
    bool unmasked = true;
    for (uint run = begin / RUN_KEYS; run * RUN_KEYS < end; run++) {
        int first = int(run * RUN_KEYS);
        uint of_tile = flagsOf(int(begin) - first, int(end) - first);
        seen = seen || (seen_flags[run] & of_tile) != 0;
        unmasked = unmasked && (unmasked_flags[run] & of_tile) == of_tile;
    }
    atomicOr(seen_tiles, seen ? 1u << tile : 0, OF_WORKGROUP);
    atomicOr(unmasked_tiles, unmasked ? 1u << tile : 0, OF_WORKGROUP);
}

void main() {
    uint thread = gl_LocalInvocationIndex;
    beginItem();
    KEEP_LOOP for (uint run = thread; run < RUNS; run += WORKGROUP_SIZE) {
        seen_flags[run] = 0;
        unmasked_flags[run] = ALL_FLAGS;
    }
    if (thread == 0) {
        smallest_document = 0xffffffffu;
        largest_document = 0;
        seen_tiles = HAS_MASKS ? 0 : 0xffffffffu;
        unmasked_tiles = HAS_MASKS ? 0 : 0xffffffffu;
        open_tiles = 0;
        biased_tiles = 0;
        added_tiles = 0;
    }
    barrier();
    bool reached = (int(first_key) < mask.any.y) && (int(first_key + MAP_WORD_KEYS) > mask.any.x);
    if (reached) {
        if (HAS_DOCUMENTS) {
            findDocuments(thread);
            barrier();
        }
        KEEP_LOOP for (uint i = thread; i < (UNLESS_BY_CORNERS(HAS_MASKS) ? RUNS * ROW_LANES : 0);
                       i += WORKGROUP_SIZE) {
            addRun(i % RUNS, i / RUNS);
        }
        barrier();
        KEEP_LOOP for (uint tile = thread; tile < (UNLESS_BY_CORNERS(HAS_MASKS) ? 32 : 0); tile += WORKGROUP_SIZE) {
            joinTile(tile);
        }
        FIND_BY_CORNERS(thread)
        barrier();
        if (HAS_BIAS) {
            findBiasTiles(thread);
        }
    }
    if (thread == 0) {
        MapWord word = MapWord(mapWordAddress(item, first_key / MAP_WORD_KEYS));
        word.seen = HAS_BIAS ? seen_tiles & open_tiles : seen_tiles;
        word.unmasked = unmasked_tiles;
        word.bias_free = HAS_BIAS ? ~biased_tiles : 0xffffffffu;
        word.added = HAS_BIAS ? added_tiles : 0;
    }
}
