/* SPDX-License-Identifier: MIT
 *
 * The optional inputs of a call. The push constants have room for one address: of a block mask, a block table, sinks,
 * slopes, scales of k and v, or dense lists of chosen keys. On path decode it may be a bias that all heads share. On
 * all fused paths it may be a square mask of the last keys. A call with two of them, or with another optional input,
 * has a table in scratch memory. write_table.comp fills the table before all other kernels of the call. Each of its
 * dispatches writes as many words as fit into push constants. */
#ifndef VKF_CALL_TABLE_H
#define VKF_CALL_TABLE_H

#include "shared/work_items.h"

#define VKF_FUNCTION_ARRAYS 8 /* the most arrays that the functions of a call read */

#ifdef __cplusplus
namespace vkf::shared {
#endif

/* Addresses of optional inputs; 0 if the call does not have the input. Strides of bias, mask and dropout mask: in bits;
 * batch, head, row. Repeats: sequence and head are taken modulo these numbers, if VKF_ID_BROADCAST_REPEATS. */
struct CallTable {
    /* Rare inputs. The first words of the table are written only where a call has one of them. */
    Address chosen_keys;
    Address list_stride[3]; /* of lists of chosen keys: bytes; batch, KV head, row */
    Address kv_scales;
    /* The others. */
    Address block_mask;
    Address block_table;
    Address sinks;
    Address slopes;
    Address bias;
    Address bias_stride[3];
    Address mask;
    Address mask_stride[3];
    Address documents;
    Address tile_map;
    Address tile_order;
    /* Packed sequences: arrays [sequences + 1], the first row and the first key of each sequence. */
    Address row_starts;
    Address key_starts;
    Address tile_sequences; /* the sequence of each tile; list_sequences.comp writes it */
    Uint sequences;
    Uint tile_count;
    Uint longest_rows; /* kernels ignore rows of a sequence past this number */
    Uint longest_keys; /* kernels ignore keys of a sequence past this number */
    /* VKF_DROPOUT_SEED: the seed. VKF_DROPOUT_DEVICE_SEED: the address of the seed. With a mask: its address. */
    Address dropout;
    Address dropout_stride[3];
    Address bias_factors;
    Uint bias_repeats[2]; /* batch, head */
    Uint mask_repeats[2];
    Uint dropout_repeats[2];
    /* From the position of key 0 to that of row 0. VKF_POSITIONS_BY_SEQUENCE: address of an int32 of each sequence.
     * VKF_POSITIONS_FIXED: the number in the low word, for all sequences. */
    Address row_offset;
    Uint mask_last_keys; /* VKF_ID_MASK_OF_LAST_KEYS: columns of the boolean mask, for the last keys of a sequence */
    Uint padding;
};

/* The table of a call whose first kernel multiplies fp32 numbers as bf16x3 (coopmat/bf16x3.glsl). It begins with the
 * table that all kernels read. */
struct Bf16x3Table {
    CallTable call;
    Uint fallback; /* write_table.comp clears it; the device sets it to 1 if plain arithmetic must compute all again */
    Uint padding;
};

/* The arrays of functions of the caller's own (functions/arrays.glsl). They stand before the table of the call. */
struct FunctionArrays {
    Address arrays[VKF_FUNCTION_ARRAYS];
};

#define VKF_TABLE_BATCH_WORDS 30

/* Push constants of write_table.comp: some uint32 words of a table. */
struct TableBatch {
    Address to;
    Uint word[VKF_TABLE_BATCH_WORDS];
};

/* Push constants of list_sequences.comp. */
struct SequenceList {
    Address starts; /* the first row or key of each sequence */
    Address tile_sequences;
    Uint sequences;
    Uint tile_count;
    Uint count;        /* rows or keys of all sequences */
    Uint packed_heads; /* query heads whose rows share tiles; 1 for tiles of keys */
    Uint tile_rows;    /* packed rows, or keys, of a tile */
};

#ifdef __cplusplus
static_assert(sizeof(CallTable) % sizeof(Address) == 0);
static_assert(sizeof(CallTable) >= VKF_TABLE_BATCH_WORDS * sizeof(Uint));
static_assert(sizeof(Bf16x3Table) == sizeof(CallTable) + 2 * sizeof(Uint));
static_assert(sizeof(TableBatch) == 128);
} // namespace vkf::shared
#endif

#endif
