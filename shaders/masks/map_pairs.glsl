// SPDX-License-Identifier: MIT
//
// What map_tiles.comp asks of pairs. First the masks: flags of a run of keys say which of its keys the masks leave
// for one row, and for the rows of the tile. Then the bias.
#ifndef VKF_MAP_PAIRS_GLSL
#define VKF_MAP_PAIRS_GLSL

#include "masks/mask.glsl"

// Flags of keys [begin, end), counted from the run's first key.
uint flagsOf(const int begin, const int end) {
    uint first = uint(clamp(begin, 0, int(RUN_KEYS))) * FLAG_BITS;
    uint last = uint(clamp(end, 0, int(RUN_KEYS))) * FLAG_BITS;
    uint after_first = BITS_FROM(first, first);
    uint after_last = BITS_FROM(last, last);
    return after_first & ~after_last & ALL_FLAGS;
}

// Flags of the columns of the boolean mask that it leaves, from `column` on. A row may begin inside a word. The word
// after the last column is not read.
uint columnFlags(const RowMasks masks, const uint column, const uint last_column) {
    uint element = masks.mask.first + column;
    uint shift = element % RUN_KEYS * FLAG_BITS;
    uvec2 address = add64(masks.mask.address, uvec2(element / RUN_KEYS * 4, 0));
    uint bits = Word(address).value >> shift;
    if (shift != 0 && column + RUN_KEYS - element % RUN_KEYS <= last_column) {
        bits |= Word(add64(address, uvec2(4, 0))).value << (32 - shift);
    }
    return MASK_BITS == 1 ? bits : (((bits & 0x7f7f7f7fu) + 0x7f7f7f7fu) | bits) & ALL_FLAGS;
}

// Flags of the keys that the boolean mask leaves.
uint maskFlags(const RowMasks masks, const uint key) {
    if (!MASK_OF_LAST_KEYS) {
        return columnFlags(masks, key, masks.last_key);
    }
    int column = int(key) - masks.first_masked;
    if (column <= -int(RUN_KEYS)) {
        return ALL_FLAGS;
    }
    uint last_column = uint(int(masks.last_key) - masks.first_masked);
    uint before = uint(max(-column, 0)); // keys of the run before column 0
    uint flags = columnFlags(masks, uint(max(column, 0)), last_column);
    return before == 0 ? flags : flags << (before * FLAG_BITS) | flagsOf(0, int(before));
}

// Flags of the keys that documents, the block mask and the caller's own mask leave. `documents`: test documents.
uint testedFlags(const RowMasks masks, const uint row, const uint key, const bool documents) {
    uint flags = 0;
    KEEP_LOOP for (uint i = 0; i < RUN_KEYS; i++) {
        bool unmasked = true;
        if (documents) {
            uint existing = min(key + i, masks.last_key);
            unmasked =
                masks.is_position && Word(add64(masks.documents, uvec2(existing * 4, 0))).value == masks.document;
        }
        if (HAS_BLOCK_MASK) {
            unmasked = unmasked && isOpen(openBlocks(row, min(key + i, masks.last_key)), key + i, key + i);
        }
        TEST_KEEP(unmasked, masks, key + i)
        flags |= unmasked ? 1u << (i * FLAG_BITS + FLAG_BITS - 1) : 0;
    }
    return flags;
}

// Flags of the keys of a run that the masks leave for a row.
//     x   unmasked keys inside the row's visible range
//     y   the keys of x and all keys outside the visible range
uvec2 rowFlags(const uint index, const uint key, const bool documents) {
    uint row = queryRowOf(index);
    RowMasks masks = rowMasks(item, queryHeadOf(index), row);
    uint unmasked = MASK_BITS != 0 ? maskFlags(masks, key) : ALL_FLAGS;
    if (OR_KEEP(documents || HAS_BLOCK_MASK)) {
        unmasked &= testedFlags(masks, row, key, documents);
    }
    if (FIRST_KEYS != 0) {
        ivec2 window = masks.window - int(key);
        unmasked &= flagsOf(0, int(masks.first_keys) - int(key)) | flagsOf(window.x, window.y);
    }
    ivec2 visible = visibleKeys(item, row) - int(key);
    uint in_range = flagsOf(visible.x, visible.y);
    return uvec2(unmasked & in_range, unmasked | (ALL_FLAGS & ~in_range));
}

// Adds the rows lane, lane + ROW_LANES, ... to the flags of a run.
void addRows(const uint run, const uint key, const uint lane, const bool documents) {
    uvec2 flags = uvec2(0, ALL_FLAGS);
    for (uint first = lane; first < rows; first += ROWS_AT_ONCE * ROW_LANES) {
        uvec2 of_row[ROWS_AT_ONCE];
        UNROLL for (uint i = 0; i < ROWS_AT_ONCE; i++) {
            of_row[i] = rowFlags(min(first + i * ROW_LANES, rows - 1), key, documents);
        }
        UNROLL for (uint i = 0; i < ROWS_AT_ONCE; i++) {
            flags = uvec2(flags.x | of_row[i].x, flags.y & of_row[i].y);
        }
    }
    atomicOr(seen_flags[run], flags.x, OF_WORKGROUP);
    atomicAnd(unmasked_flags[run], flags.y, OF_WORKGROUP);
}

// Which tiles of a word of the map have a bias that is a mask (map_tiles.comp). Three bits for each tile describe the
// pairs inside the visible ranges:
//     open    a pair has a bias above -infinity, or NaN
//     biased  a pair has a bias other than 0
//     added   a pair has a bias that is neither 0 nor -infinity
// A tile without `open` is empty, and a tile without `biased` is bias-free. A pair that sets `added` sets all three
// bits, and nothing can change them then.
//
// Most biases are not masks, and must not pay for the map. So the workgroup first looks at BIAS_SAMPLES pairs of each
// tile, on different rows. Then it reads the tiles without `added`, completely.

const uint BIAS_BITS = 1u << LOG_BIAS_BITS;
const uint BIAS_SAMPLES = 8; // of a tile
// The most rows that a tile has: packed heads that share a map have the same query rows.
const uint MAX_ROWS = MAPS_HEADS || PACKED_HEADS == 1 ? TILE_ROWS : TILE_ROWS / PACKED_HEADS + 2;
const uint PIECE_KEYS = 128 / BIAS_BITS;
const uint PIECES = (TILE_KEYS + PIECE_KEYS - 1) / PIECE_KEYS; // of a row of a tile
const uint PIECES_AT_ONCE = 8;
const bool TILES_OF_PIECES = TILE_KEYS % PIECE_KEYS == 0;

// All elements of a word of 4 bytes: -infinity, and the bits of a number without its sign.
const uint MINUS_INFINITIES = BIAS == VKF_STORED_F32 + 1   ? 0xff800000u
                              : BIAS == VKF_STORED_F16 + 1 ? 0xfc00fc00u
                                                           : 0xff80ff80u;
const uint MAGNITUDES = BIAS == VKF_STORED_F32 + 1 ? 0x7fffffffu : 0x7fff7fffu;

// The highest bit of each element of a word that is not 0.
#define NONZERO_ELEMENTS(word) ((((word)&MAGNITUDES) + MAGNITUDES | (word)) & ~MAGNITUDES)

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer BiasPiece {
    uvec4 words;
};

shared uvec2 bias_rows[HAS_BIAS ? MAX_ROWS : 1]; // address of key 0 of each row
shared ivec2 bias_keys[HAS_BIAS ? MAX_ROWS : 1]; // visible keys of each row
shared uint listed_tiles[32];                    // the tiles that the workgroup reads completely
shared uint open_tiles;
shared uint biased_tiles;
shared uint added_tiles;

// What one invocation found.
uint found_open;
uint found_biased;
uint found_added;

// A piece of a row in a tile.
struct BiasPosition {
    uint tile;
    uint row;
    uint key; // its first key
};

void beginBiasRows(const uint thread) {
    CallTable table = CallTableAt(optionalInputs()).table;
    for (uint i = thread; i < rows; i += WORKGROUP_SIZE) {
        uint query_row = queryRowOf(i);
        BroadcastRow row = broadcastRow(table.bias, table.bias_stride, table.bias_repeats, item.batch, queryHeadOf(i),
                                        query_row, LOG_BIAS_BITS);
        bias_rows[i] = add64(row.address, uvec2(row.first * (BIAS_BITS / 8), 0));
        bias_keys[i] = visibleKeys(item, query_row);
    }
}

// Elements of PIECE_KEYS keys. Keys past the last one have its bias.
uvec4 gatherPiece(const BiasPosition position) {
    uvec2 address = bias_rows[position.row];
    BroadcastRow row = BroadcastRow(uvec2(address.x & ~3u, address.y), (address.x & 3u) * 8 / BIAS_BITS);
    uvec4 words = uvec4(0);
    UNROLL for (uint i = 0; i < PIECE_KEYS; i++) {
        uint bits = broadcastBits(row, min(position.key + i, item.keys - 1), LOG_BIAS_BITS);
        words[i * BIAS_BITS / 32] |= (bits & (0xffffffffu >> (32 - BIAS_BITS))) << (i * BIAS_BITS & 31u);
    }
    return words;
}

uvec4 loadPiece(const BiasPosition position) {
    return BiasPiece(add64(bias_rows[position.row], multiply64(position.key, BIAS_BITS / 8))).words;
}

// The visible keys of a row in a tile, counted from `key`.
ivec2 visibleInTile(const uint row, const uint tile, const uint key) {
    int begin = int(first_key + tile * TILE_KEYS);
    return clamp(bias_keys[row], ivec2(begin), ivec2(begin + int(TILE_KEYS))) - int(key);
}

// Adds the visible elements of a piece to what the invocation found.
void addPiece(const BiasPosition position, const uvec4 words) {
    ivec2 visible = clamp(visibleInTile(position.row, position.tile, position.key), ivec2(0), ivec2(PIECE_KEYS));
    uvec4 elements = uvec4(0xffffffffu);
    if (visible.y - visible.x != int(PIECE_KEYS)) {
        UNROLL for (uint i = 0; i < 4; i++) {
            ivec2 bits = visible * int(BIAS_BITS) - int(i * 32);
            uint from_first = BITS_FROM(bits.x, max(bits.x, 0));
            uint to_last = BITS_BEFORE(bits.y);
            elements[i] = bits.x < bits.y ? from_first & to_last : 0;
        }
    }
    uint tile = 1u << position.tile;
    uvec4 above = (words ^ MINUS_INFINITIES) & elements;
    uvec4 magnitudes = words & MAGNITUDES & elements;
    found_open |= any(notEqual(above, uvec4(0))) ? tile : 0;
    found_biased |= any(notEqual(magnitudes, uvec4(0))) ? tile : 0;
    uvec4 added = NONZERO_ELEMENTS(above) & NONZERO_ELEMENTS(magnitudes);
    found_added |= any(notEqual(added, uvec4(0))) ? tile : 0;
}

// Gives what the invocations found to the workgroup. The caller needs a barrier after it.
void shareFindings() {
    if (found_open != 0) {
        atomicOr(open_tiles, found_open, OF_WORKGROUP);
    }
    if (found_biased != 0) {
        atomicOr(biased_tiles, found_biased, OF_WORKGROUP);
    }
    if (found_added != 0) {
        atomicOr(added_tiles, found_added, OF_WORKGROUP);
    }
}

// Looks at some pairs of each tile.
void sampleTiles(const uint thread) {
    KEEP_LOOP for (uint i = thread; i < 32 * BIAS_SAMPLES; i += WORKGROUP_SIZE) {
        uint tile = i % 32;
        uint number = i / 32;
        uint row = (2 * number + 1) * rows / (2 * BIAS_SAMPLES);
        ivec2 visible = visibleInTile(row, tile, 0);
        if (visible.x < visible.y) {
            uint index = number * 3 % BIAS_SAMPLES; // neighbouring rows have distant keys
            uint key = uint(visible.x) + index * uint(visible.y - visible.x) / BIAS_SAMPLES;
            uvec2 address = bias_rows[row];
            BroadcastRow from = BroadcastRow(uvec2(address.x & ~3u, address.y), (address.x & 3u) * 8 / BIAS_BITS);
            uint element = broadcastBits(from, key, LOG_BIAS_BITS) & (0xffffffffu >> (32 - BIAS_BITS));
            const uint only = 0xffffffffu >> (32 - BIAS_BITS);
            bool above = element != (MINUS_INFINITIES & only);
            bool biased = (element & MAGNITUDES & only) != 0;
            found_open |= above ? 1u << tile : 0;
            found_biased |= biased ? 1u << tile : 0;
            found_added |= above && biased ? 1u << tile : 0;
        }
    }
}

// Tiles of the word that some row of the tile of rows may see.
uint tilesInRange() {
    int begin = max(mask.any.x - int(first_key), 0) / int(TILE_KEYS);
    int end = (max(mask.any.y - int(first_key), 0) + int(TILE_KEYS) - 1) / int(TILE_KEYS);
    uint from_first = BITS_FROM(begin, begin);
    uint to_last = BITS_BEFORE(end);
    return from_first & to_last;
}

BiasPosition biasPositionOf(const uint index) {
    uint piece = index % PIECES;
    uint row = index / PIECES % MAX_ROWS;
    uint tile = listed_tiles[index / PIECES / MAX_ROWS];
    return BiasPosition(tile, min(row, rows - 1), first_key + tile * TILE_KEYS + piece * PIECE_KEYS);
}

// Whether the pieces of all rows lie at multiples of their size.
bool areAligned() {
    CallTable table = CallTableAt(optionalInputs()).table;
    uint bits = table.bias_stride[0].x | table.bias_stride[1].x | table.bias_stride[2].x | table.bias.x << 3;
    return TILES_OF_PIECES && (bits & 127u) == 0 && item.keys >= PIECE_KEYS;
}

// Reads `count` listed tiles completely, with several loads in flight.
void readTiles(const uint thread, const uint count) {
    uint pieces = count * MAX_ROWS * PIECES;
    uint last_key =
        item.keys / PIECE_KEYS * PIECE_KEYS - PIECE_KEYS; // where the last piece begins that lies in the row
    bool aligned = areAligned();
    KEEP_LOOP for (uint first = thread; first < pieces; first += PIECES_AT_ONCE * WORKGROUP_SIZE) {
        uvec4 words[PIECES_AT_ONCE];
        if (aligned) {
            UNROLL for (uint i = 0; i < PIECES_AT_ONCE; i++) {
                BiasPosition position = biasPositionOf(min(first + i * WORKGROUP_SIZE, pieces - 1));
                position.key = min(position.key, last_key);
                words[i] = loadPiece(position);
            }
        }
        UNROLL for (uint i = 0; i < PIECES_AT_ONCE; i++) {
            BiasPosition position = biasPositionOf(min(first + i * WORKGROUP_SIZE, pieces - 1));
            if (!aligned || position.key > last_key) {
                words[i] = gatherPiece(position);
            }
            addPiece(position, words[i]);
        }
    }
}

// Sets open_tiles and biased_tiles for the tiles of seen_tiles. The workgroup must have set both to 0. Contains
// barriers, and ends with one.
void findBiasTiles(const uint thread) {
    found_open = 0;
    found_biased = 0;
    found_added = 0;
    beginBiasRows(thread);
    barrier();
    sampleTiles(thread);
    shareFindings();
    barrier();
    uint listed = tilesInRange() & seen_tiles & ~added_tiles;
    KEEP_LOOP for (uint tile = thread; tile < 32; tile += WORKGROUP_SIZE) {
        if (((listed >> tile) & 1u) != 0) {
            listed_tiles[bitCount(listed & ((1u << tile) - 1))] = tile;
        }
    }
    barrier();
    readTiles(thread, uint(bitCount(listed)));
    shareFindings();
    barrier();
}

#endif
