/* SPDX-License-Identifier: MIT
 *
 * Sizes of the kernels' shared memory, and the number of words of a row that an invocation holds. The host chooses
 * tiles by these numbers, and the shaders declare their arrays with them. The sizes are macros, because GLSL takes no
 * function call as the size of an array. */
#ifndef VKF_TILE_MEMORY_H
#define VKF_TILE_MEMORY_H

#include "shared/stored_types.h"

/* Bytes of a word of shared memory, which all sizes below count. */
#define VKF_WORD_BYTES 16

/* Shared memory of the tiled kernels, in 16-byte words. Each row of q, k and p has one word of padding, so that lanes
 * that read neighbouring rows use different banks. */
#define VKF_STAGED_ROW_WORDS(chunk_dim4) ((chunk_dim4) + 1)
#define VKF_P_ROW_WORDS(chunk_keys) ((chunk_keys) / 4 + 1)
#define VKF_Q_WORDS(tile_rows, chunk_dim4) ((tile_rows)*VKF_STAGED_ROW_WORDS(chunk_dim4))
#define VKF_K_WORDS(tile_keys, chunk_dim4) ((tile_keys)*VKF_STAGED_ROW_WORDS(chunk_dim4))
#define VKF_V_WORDS(chunk_keys, value_dim4) ((chunk_keys) * (value_dim4))
#define VKF_MAX_WORDS(a, b) ((a) > (b) ? (a) : (b))
#define VKF_P_WORDS(tile_rows, chunk_keys) ((tile_rows)*VKF_P_ROW_WORDS(chunk_keys))

/* Shared memory of the cooperative-matrix kernel, in 16-byte words of eight elements. Each row has one word of
 * padding, so that the rows of a matrix start in different banks. */
#define VKF_MATRICES(dim, depth) (((dim) + (depth)-1) / (depth))
#define VKF_MATRIX_ROW_WORDS(matrices, depth) ((matrices) * (depth) / 8 + 1)
#define VKF_MATRIX_KV_WORDS(keys, depth, columns, head_dim, value_dim)                                                 \
    ((keys) * (VKF_MATRIX_ROW_WORDS(VKF_MATRICES(head_dim, depth), depth) +                                            \
               VKF_MATRIX_ROW_WORDS(VKF_MATRICES(value_dim, columns), columns)))
/* The memory of one subgroup before and after the loop over keys. During the loop, k and v use the same memory. The
 * subgroup loads q through it, VKF_STAGED_MATRICES matrices of a row at a time. It stores o through it, two fp32
 * matrices at a time. */
#define VKF_STAGED_MATRICES 4
#define VKF_MATRIX_STAGE_WORDS(matrix_rows, depth, columns)                                                            \
    VKF_MAX_WORDS((matrix_rows)*VKF_MATRIX_ROW_WORDS(VKF_STAGED_MATRICES, depth), (matrix_rows) * (columns) / 2)
/* The slices of q that lie in shared memory during the loop over keys. */
#define VKF_MATRIX_SHARED_Q_WORDS(tile_rows, slices, depth)                                                            \
    ((slices) == 0 ? 0 : (tile_rows)*VKF_MATRIX_ROW_WORDS(slices, depth))
/* The parts of an fp32 number on cooperative matrices (coopmat/bf16x3.glsl). Each part of k and v has rows of its own.
 */
#define VKF_BF16X3_PARTS 3
/* The memory of one subgroup if scores and probabilities pass through shared memory: the fp32 scores of one row of
 * matrices. The 16-bit probabilities need less. Rows have two words of padding, because subgroups store and load
 * half rows of fp32. */
#define VKF_VIA_SHARED_ROW_WORDS(keys) ((keys) / 4 + 2)
#define VKF_VIA_SHARED_WORDS(matrix_rows, keys) ((matrix_rows)*VKF_VIA_SHARED_ROW_WORDS(keys))

/* The decode kernels load rows of k and v in words of 16 bytes. VKF_WORD_QUADS: groups of four elements in a word.
 * VKF_ROW_WORDS: words in a row. VKF_LANE_WORDS: words of a lane. A word of a block type is a piece of a block
 * (block_types.glsl), which has fewer bytes in memory. */
#define VKF_WORD_QUADS(type)                                                                                           \
    ((type) == VKF_STORED_F32 ? 1 : VKF_IS_BLOCK_TYPE(type) && (type) != VKF_STORED_Q8_0 ? 4 : 2)
#define VKF_ROW_WORDS(dim, type) (((dim) + 4 * VKF_WORD_QUADS(type) - 1) / (4 * VKF_WORD_QUADS(type)))
#define VKF_LANE_WORDS(dim, type, lanes) ((VKF_ROW_WORDS(dim, type) + (lanes)-1) / (lanes))
/* Shared memory of the decode kernel in plain arithmetic, in 16-byte words: q in fp32, and one row of o for each
 * group of lanes. */
#define VKF_DECODE_Q_WORDS(rows, head_dim, type, lanes)                                                                \
    ((rows)*VKF_LANE_WORDS(head_dim, type, lanes) * (lanes)*VKF_WORD_QUADS(type))
#define VKF_DECODE_O_WORDS(workgroup_size, value_dim, type, lanes)                                                     \
    ((workgroup_size)*VKF_LANE_WORDS(value_dim, type, lanes) * VKF_WORD_QUADS(type))

/* Rows of block types in the decode kernel on cooperative matrices (decode_matrix/lane_chunks.glsl). `lanes`
 * invocations load a row together. The codes of a block are divided into 1, 2 or 4 chunks, so that all invocations load
 * equally many. A block has VKF_BLOCK_ELEMENTS elements here, of fp8 types too, whose chunks have at most 16 bytes.
 *
 * VKF_SPLITS_BLOCKS_EVENLY      whether that is possible
 * VKF_VALUE_CHUNKS_PER_BLOCK    chunks of a block of v
 * VKF_KEY_CHUNKS_PER_BLOCK      chunks of a block of k
 * VKF_LANE_CHUNKS               chunks of a row that an invocation loads */
#define VKF_SPLITS_BLOCKS_EVENLY(dim, lanes) ((dim) / 8 % (lanes) == 0)
#define VKF_VALUE_CHUNKS_PER_BLOCK(dim, lanes) ((dim) / 16 % (lanes) == 0 ? 2 : 4)
#define VKF_KEY_CHUNKS_PER_BLOCK(dim, lanes, type)                                                                     \
    (VKF_IS_FP8(type)            ? VKF_VALUE_CHUNKS_PER_BLOCK(dim, lanes)                                              \
     : (dim) / 32 % (lanes) == 0 ? 1                                                                                   \
                                 : VKF_VALUE_CHUNKS_PER_BLOCK(dim, lanes))
#define VKF_LANE_CHUNKS(dim, lanes, chunks_per_block) ((dim) * (chunks_per_block) / VKF_BLOCK_ELEMENTS / (lanes))
/* In words of 4 bytes:
 * VKF_CHUNK_WORDS      codes of a chunk
 * VKF_CHUNK_LOAD_WORDS       one load
 * VKF_EIGHT_WORDS      codes of eight elements
 * VKF_HEADER_WORDS     scale, minimum and fifth bits, which lie before the codes
 * VKF_FETCHED_WORDS    all that is loaded for a chunk
 *
 * VKF_CHUNK_HEADER_WORDS are those of the header that are loaded beside the codes. If a chunk is all codes of a block
 * whose header is just the scale, the first load of codes has the scale too. */
#define VKF_CHUNK_WORDS(type, chunks_per_block) ((VKF_CODES_ARE_BYTES(type) ? 32 : 16) / 4 / (chunks_per_block))
#define VKF_CHUNK_LOAD_WORDS(type, chunks_per_block, unit)                                                             \
    (VKF_IS_FP8(type)                                   ? VKF_CHUNK_WORDS(type, chunks_per_block)                      \
     : VKF_CHUNK_WORDS(type, chunks_per_block) < (unit) ? 1                                                            \
                                                        : (unit))
#define VKF_EIGHT_WORDS(type) (VKF_CODES_ARE_BYTES(type) ? 2 : 1)
#define VKF_HEADER_WORDS(type) (VKF_BLOCK_HAS_FIFTH_BITS(type) ? 2 : 1)
#define VKF_CHUNK_HEADER_WORDS(type, chunks_per_block)                                                                 \
    (VKF_IS_FP8(type)                ? 0                                                                               \
     : (chunks_per_block) != 1       ? VKF_HEADER_WORDS(type)                                                          \
     : VKF_BLOCK_CODES_AT(type) == 2 ? 0                                                                               \
                                     : VKF_HEADER_WORDS(type))
#define VKF_FETCHED_WORDS(type, chunks_per_block, unit)                                                                \
    (VKF_CHUNK_HEADER_WORDS(type, chunks_per_block) + VKF_CHUNK_WORDS(type, chunks_per_block) +                        \
     (VKF_IS_FP8(type) ? 0 : VKF_CHUNK_LOAD_WORDS(type, chunks_per_block, unit)))

/* The decode kernel on cooperative matrices: pairs of columns from one staged row of o to the next. The padding puts
 * neighbouring rows into different banks. */
#define VKF_DECODE_STAGED_ROW(columns) ((columns) / 2 + 1)
/* `split`: whether the columns of a pair of columns of v are in two invocations (decode_matrix/tile.glsl).
 * VKF_DECODE_MATRIX_PACKED_ROWS: packed rows of a matrix with this many columns. VKF_LANE_ROW_STRIDE: packed rows from
 * one row of an invocation to its next one, where `lanes` invocations share a key. VKF_DECODE_P_ROW: words from one row
 * of staged probabilities to the next. With matrices of 16 keys, rows then are in different banks. */
#define VKF_DECODE_MATRIX_PACKED_ROWS(columns, split) ((split) ? (columns) / 2 : (columns))
#define VKF_LANE_ROW_STRIDE(lanes, split) ((split) ? (lanes) / 2 : (lanes))
#define VKF_DECODE_P_ROW(keys) ((keys) + 8)
/* The largest number of rows whose state an invocation of that kernel keeps. Each row adds code. */
#define VKF_MAX_LANE_ROWS 4
/* The latent kernel. Subgroups divide a dimension into matrices of `side` rows or columns.
 * VKF_LATENT_MATRICES: matrices of one subgroup. VKF_LATENT_ROW_WORDS: 16-byte words from one row to the next in the
 * tile that k and v share, with one word of padding. */
#define VKF_LATENT_MATRICES(dim, side, subgroups) ((VKF_MATRICES(dim, side) + (subgroups)-1) / (subgroups))
#define VKF_LATENT_ROW_WORDS(head_dim, value_dim, side, depth_subgroups, subgroups)                                    \
    VKF_MATRIX_ROW_WORDS(VKF_MAX_WORDS(VKF_LATENT_MATRICES(head_dim, side, depth_subgroups) * (depth_subgroups),       \
                                       VKF_LATENT_MATRICES(value_dim, side, subgroups) * (subgroups)),                 \
                         side)
/* Shared memory of one product of the unfused path on cooperative matrices, in 16-byte words. VKF_PRODUCT_WORDS: a step
 * of a and a step of b, with one word of padding in each row. VKF_PRODUCT_OUTPUT_WORDS: one matrix of each subgroup,
 * which later uses the same memory to store the result. */
#define VKF_PRODUCT_WORDS(a_rows, a_words, b_rows, b_words) ((a_rows) * ((a_words) + 1) + (b_rows) * ((b_words) + 1))
#define VKF_PRODUCT_OUTPUT_WORDS(subgroups, matrix_rows, matrix_columns)                                               \
    ((subgroups) * (matrix_rows) * (matrix_columns) / 4)

#endif
