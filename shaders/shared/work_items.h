/* SPDX-License-Identifier: MIT
 *
 * The types of numbers that host and shader share, the integer arithmetic of work items, and the limits within which it
 * holds. Shaders compute it with 32-bit numbers. The host refuses every problem for which one of them would not fit. A
 * test evaluates each macro at and around the limits and compares it with exact arithmetic
 * (tests/planning/work_items_test.cpp).
 *
 * A kernel works on whole tiles, so it also counts rows and keys past the last one. Each limit therefore leaves room
 * for two more tiles. */
#ifndef VKF_WORK_ITEMS_H
#define VKF_WORK_ITEMS_H

/* Members of shared structs. A member, or an element of an array, has 4 or 8 bytes. One of 8 bytes has an offset that
 * is a multiple of 8. C++ and std430 then give each member the same offset. */
#ifdef __cplusplus
#include <cstddef>
#include <cstdint>
namespace vkf::shared {
using Address = uint64_t;
using Uint = uint32_t;
using Int = int32_t;
using Float = float;
} // namespace vkf::shared
#else
#define Address uvec2
#define Uint uint
#define Int int
#define Float float
#endif

/* Rows or keys of a tile, and rows of a workgroup: no tile has more. */
#define VKF_MAX_TILE 32768
/* Rows of a head, keys, sequences, entries of a block table: 2^30 - 65536. The position of a row plus a reach of
 * the window then fits an int, even for a row past the last one. Four times each number fits 32 bits. */
#define VKF_MAX_ROWS 0x3fff0000
/* Rows of all heads of all sequences, also times key splits; work items; tiles of packed sequences: 2^32 - 65536. */
#define VKF_MAX_COUNT 0xffff0000u
/* Rows of a tile that has all packed rows of a sequence (coopmat/dequantize_keys.comp). */
#define VKF_ALL_ROWS VKF_MAX_COUNT
/* Positions of the call's own are below 2^29, and rows or keys next to each other stand at most this far apart. The
 * position of a row past the last one of a tile then fits an int too, with a reach of the window. */
#define VKF_MAX_POSITION 0x20000000
#define VKF_MAX_POSITION_STRIDE 8192
/* The reach of a window that is unlimited. */
#define VKF_UNLIMITED_LEFT 0x40000000
#define VKF_UNLIMITED_RIGHT 0x3fffffff

/* Tiles of `tile` rows or keys that cover `count` of them. */
#define VKF_TILES(count, tile) (((count) + (tile)-1) / (tile))
/* Number of a row: row `index` of a workgroup that has `rows` of them. */
#define VKF_ROW_OF_ITEM(item, rows, index) ((item) * (rows) + (index))

/* The row tile and the head of work item `number` (common/item.glsl). Work items count the heads of a set of
 * interleaved heads fastest, then their row tiles, then sets. `in_set` is the number in the set. Heads count over
 * splits and sequences. */
#define VKF_ITEM_HEAD_SET(number, row_tiles, set_heads) ((number) / ((row_tiles) * (set_heads)))
#define VKF_ITEM_IN_SET(number, set, row_tiles, set_heads) ((number) - (set) * ((row_tiles) * (set_heads)))
#define VKF_ITEM_TILE(in_set, set_heads) ((set_heads) == 1 ? (in_set) : (in_set) / (set_heads))
#define VKF_ITEM_HEAD(set, in_set, set_heads) ((set) * (set_heads) + ((set_heads) == 1 ? 0 : (in_set) % (set_heads)))

/* Packed rows of a sequence; the first packed row of a tile, where tiles count backwards or not; the last packed row of
 * the tile. A tile has rows if row_begin < packed_rows. */
#define VKF_PACKED_ROWS(rows, packed_heads) ((rows) * (packed_heads))
#define VKF_ROW_BEGIN(backwards, row_tiles, tile, tile_rows)                                                           \
    (((backwards) ? (row_tiles)-1 - (tile) : (tile)) * (tile_rows))
#define VKF_LAST_ROW(row_begin, tile_rows, packed_rows) (min((row_begin) + (tile_rows), packed_rows) - 1)

/* Number of a head among those of all partial results. */
#define VKF_HEAD_NUMBER(partial_result, heads, head) ((partial_result) * (heads) + (head))
/* The first of the tiles or steps of a key split, among `count` of them. */
#define VKF_SHARE_BEGIN(count, splits, split) ((count) / (splits) * (split) + min((count) % (splits), split))
/* Where the length of splits is fixed, it doubles until a row tile has at most this many. One row over 65,536 keys
 * takes 75 us on an H200 in 64 splits, 94 us in 256, 126 us in 512, and 66 us in as many as the library chooses. */
#define VKF_MOST_FIXED_SPLITS 64
/* Number of a row of key split 0, among the rows of all partial results. `split_rows` are those of one partial result.
 */
#define VKF_ROW_OF_SPLITS(batch, splits, split_rows, head, rows, row)                                                  \
    ((batch) * (splits) * (split_rows) + (head) * (rows) + (row))

/* Path key_outer: work items of one tile of keys. */
#define VKF_ITEMS_OF_KEY_TILE(rows, tile_rows, heads, sequences) (VKF_TILES(rows, tile_rows) * (heads) * (sequences))

/* The map of tiles: number of the first tile of rows of a head, and of any tile, among those of all heads; number of a
 * word of a tile of rows. */
#define VKF_MAP_FIRST_ROW(batch, map_heads, head, row_tiles) (((batch) * (map_heads) + (head)) * (row_tiles))
#define VKF_MAP_ROW(batch, map_heads, head, row_tiles, tile)                                                           \
    (VKF_MAP_FIRST_ROW(batch, map_heads, head, row_tiles) + (tile))
#define VKF_MAP_WORD(row, words, word) ((row) * (words) + (word))

/* Packed sequences: each tile of packed rows has a number. VKF_FIRST_SEQUENCE_TILE is the number of the first tile of a
 * sequence, from the first row of the sequence. No sum over the sequences before it is necessary. Whatever the lengths
 * are, a sequence has enough numbers for its tiles, and at most one idle number. The count of numbers is
 * VKF_FIRST_SEQUENCE_TILE for all rows and sequence `sequences`. */
#define VKF_FIRST_SEQUENCE_TILE(first_row, packed_heads, tile_rows, sequence)                                          \
    ((first_row) * (packed_heads) / (tile_rows) + (sequence))

/* The backward pass in bands: number of a tile of keys of its sequence. Tiles of the last band may not exist. */
#define VKF_TILE_OF_BANDS(band, band_tiles, tile) ((band) * (band_tiles) + (tile))

/* Signed. The first row or key, of those that stand at 0, stride, 2 stride and so on, at or after a position. */
#define VKF_FIRST_FROM(position, stride)                                                                               \
    ((stride) == 1 ? (position) : (position) > 0 ? ((position)-1) / (stride) + 1 : -(-(position) / (stride)))

/* Signed. Window: the positions [VKF_WINDOW_BEGIN, VKF_WINDOW_END) around the position `diagonal` of a row. */
#define VKF_WINDOW_BEGIN(diagonal, left) ((diagonal) - (left))
#define VKF_WINDOW_END(diagonal, right) ((diagonal) + (right) + 1)
/* Where rows stand that see some of the positions [first, end): [VKF_SEEING_BEGIN, VKF_SEEING_END), less offset. */
#define VKF_SEEING_BEGIN(first, offset, right) ((first) - (offset) - (right))
#define VKF_SEEING_END(end, offset, left) ((end) - (offset) + (left))

#endif
