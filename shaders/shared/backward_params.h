/* SPDX-License-Identifier: MIT
 *
 * Parameters of the kernels of the backward pass: their push constants, the table of a call, the shared memory of path
 * scalar, and the sizes of lists of tiles. */
#ifndef VKF_BACKWARD_PARAMS_H
#define VKF_BACKWARD_PARAMS_H

#include "shared/attention_params.h"
#include "shared/call_table.h"

#ifdef __cplusplus
namespace vkf::shared {
#endif

/* Index of dout in the stride arrays. q, k and v have the indices of attention. */
#define VKF_DOUT 3

/* Push constants of the kernels that recompute scores. lse is 0: the state of the rows has it. The extra slot
 * always has the address of a BackwardTable. */
struct BackwardParams {
    Address q;
    Address k;
    Address v;
    Address dout;
    VKF_CALL_PARAMS
};

/* Indices of the tensors of backward_rows.comp in the stride arrays. */
#define VKF_STATE_O 0
#define VKF_STATE_DOUT 1

/* Push constants of backward_rows.comp, which writes the state of the rows, and of backward_sinks.comp, which reads it.
 * A row state is two fp32 numbers, dense [batch, heads, rows]:
 *   - lse in units of log2; +infinity for a row that contributes nothing and gets no gradient
 *   - delta = dot(dout, o) - dlse; 0 for such a row */
struct BackwardRowsParams {
    Address o;
    Address dout;
    Address dlse; /* 0 = none */
    Address row_state;
    VKF_CALL_PARAMS
};

/* A tensor that a kernel writes. Strides are in bytes. */
struct BackwardTensor {
    Address address;
    Address batch_stride;
    Address head_stride;
    Address row_stride;
};

/* The table of a backward call. It begins with the table that the code of the forward pass reads. write_table.comp
 * fills it. */
struct BackwardTable {
    CallTable call;
    Address row_state;
    BackwardTensor dq;
    BackwardTensor dk;
    BackwardTensor dv;
    BackwardTensor dbias; /* a dimension that is shared has a stride of 0 */
    Address dsinks;
    Address key_tile_sequences; /* packed sequences: the sequence of each tile of a tile of keys */
    Uint key_tile_count;
    Uint kv_heads;
    Uint bias_sequences; /* numbers of sequences, heads and rows of dbias that differ */
    Uint bias_heads;
    Uint bias_rows;
    Float scale;         /* of q k^T */
    Address ds;          /* ds of a band, with VKF_ID_BAND_TILES */
    Address p;           /* p of a band, with VKF_ID_STORES_P */
    Address dq_sums;     /* the sums of dq over the bands so far, in fp32 */
    Uint wants_fallback; /* the device sets it to 1 if p and ds of some band cannot give the sums */
    Uint padding;
};

/* What a workgroup of backward_scalar.comp owns. It visits all that its tile meets. */
#define VKF_OWNS_ROWS 0 /* query rows; it visits keys and writes dq */
#define VKF_OWNS_KEYS 1 /* keys; it visits query rows and writes dk and dv, or one of them */
#define VKF_OWNS_BIAS                                                                                                  \
    2 /* elements of the bias; it visits heads, sequences and rows that share them, and writes dbias */

/* Shared memory of a step of backward_sums.comp, in 16-byte words: visited rows of `row_words` words, and pairs if rows
 * are owned. Rows are padded as in tile_memory.h. */
#define VKF_SUMS_STEP_WORDS(owns_keys, owned, step, row_words)                                                         \
    (((owns_keys) ? 0 : (step) * ((owned) / 8 + 1)) + (step) * (row_words))

/* Matrices of sums that a subgroup of backward_sums.comp stores at once. They pass through shared memory in fp32. */
#define VKF_SUMS_STORED_MATRICES 2

/* Shared memory of backward_scalar.comp, in 16-byte words. `owned` and `visited` are the rows or keys of a tile,
 * `chunk_dim4` the columns of a chunk in fours, `chunk_visited` the rows of a chunk, `columns4` the columns of a sum
 * over visited rows or keys, in fours. Rows are padded as in tile_memory.h. */
#define VKF_BACKWARD_OWNED_WORDS(owned, chunk_dim4) ((owned) * ((chunk_dim4) + 1))
#define VKF_BACKWARD_VISITED_WORDS(visited, chunk_dim4, chunk_visited, columns4)                                       \
    ((visited) * ((chunk_dim4) + 1) > (chunk_visited) * (columns4) ? (visited) * ((chunk_dim4) + 1)                    \
                                                                   : (chunk_visited) * (columns4))
#define VKF_BACKWARD_PAIR_WORDS(owned, chunk_visited) ((owned) * ((chunk_visited) / 4 + 1))

/* The tile of backward_coopmat.comp. `subgroups` of them divide the columns of a tensor. `unit` is the larger of a
 * matrix's columns and depth.
 *
 * VKF_BACKWARD_SHARE                matrices of one subgroup; some may lie past the last column
 * VKF_BACKWARD_MATRIX_ROW_WORDS     16-byte words from row to row in shared memory. The padding puts the rows of a
 *                                   matrix into different banks.
 * VKF_BACKWARD_JOIN_ROW_WORDS       words from row to row of fp32 pairs that subgroups add up; padded likewise
 */
#define VKF_BACKWARD_SHARE(dim, side, subgroups) ((VKF_MATRICES(dim, side) + (subgroups)-1) / (subgroups))
#define VKF_BACKWARD_MATRIX_ROW_WORDS(dim, unit, subgroups)                                                            \
    VKF_MATRIX_ROW_WORDS(VKF_BACKWARD_SHARE(dim, unit, subgroups) * (subgroups), unit)
#define VKF_BACKWARD_JOIN_ROW_WORDS(columns) ((columns) / 4 + 1)

/* Lists of tiles (backward/tile_lists.glsl). */

/* Words of 16 bytes of a list of up to `tiles` tiles, the first of which says where its parts end. */
#define VKF_LIST_WORDS(tiles) (1 + ((tiles) + 3) / 4)

/* The array of lists of a kernel is [maps, bands, owned tiles]. */
#define VKF_LIST_NUMBER(map, bands, band, owned_tiles, owned_tile)                                                     \
    (((map) * (bands) + (band)) * (owned_tiles) + (owned_tile))

/* Most tiles of a list: list_tiles.comp has seven words of shared memory for 32 of them. */
#define VKF_MAX_LIST_TILES 16384

/* VKF_ID_READ_ROWS: others may read all stored tiles. */
#define VKF_READS_ALL 0xffffffffu

#ifdef __cplusplus
static_assert(sizeof(BackwardParams) == sizeof(CallParams));
static_assert(sizeof(BackwardRowsParams) == sizeof(CallParams));
static_assert(offsetof(BackwardTable, call) == 0);
static_assert(offsetof(BackwardTable, row_state) == sizeof(CallTable));
static_assert(sizeof(BackwardTable) % sizeof(Address) == 0);
} // namespace vkf::shared
#endif

#endif
