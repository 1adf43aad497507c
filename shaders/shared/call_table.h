/* SPDX-License-Identifier: MIT
 *
 * What a call brings beside its tensors, for which the push constants have one place: a table in scratch memory, which
 * write_table.comp fills before anything else of the call runs. Its words are push constants of that kernel, as many as
 * fit at a time. */
#ifndef VKF_CALL_TABLE_H
#define VKF_CALL_TABLE_H

#include "shared/language.h"

#ifdef __cplusplus
namespace vkf::shared {
#endif

/* Addresses; 0 of what the call does not bring. */
struct CallTable {
    Address block_mask;
    Address block_table;
    Address sinks;
    Address slopes;
    Address bias;
    Address bias_stride[3]; /* bits; batch, head, row */
    Address mask;
    Address mask_stride[3];
    Address documents;
    Address tile_map;
    Address tile_order;
    /* Of packed sequences: [sequences + 1], where the rows and the keys of each begin. */
    Address row_starts;
    Address key_starts;
    Address slots;      /* what list_sequences.comp writes */
    Uint sequences;
    Uint slot_count;
    Uint longest_rows;  /* what is past these of a sequence does not exist */
    Uint longest_keys;
    Address dropout; /* the seed, or the address of it or of the mask, as VKF_DROPOUT_* says */
    Address dropout_stride[3];
    Address bias_factors;
};

#define VKF_TABLE_PIECE_WORDS 29

/* Push constants of write_table.comp. */
struct TablePiece {
    Address to;
    Uint count; /* of words */
    Uint word[VKF_TABLE_PIECE_WORDS];
};

/* Push constants of list_sequences.comp. */
struct SequenceList {
    Address row_starts;
    Address slots;
    Uint sequences;
    Uint slot_count;
    Uint query_rows;   /* of all sequences */
    Uint packed_heads; /* whose rows share tiles */
    Uint tile_rows;    /* packed */
};

/* A tile of packed rows has a slot, one after the other: those of sequence b begin at this one, given its first row.
 * So many are always enough for its tiles, and at most one of them is idle, whatever the lengths: nobody has to add
 * anything up. There are VKF_FIRST_SLOT(all rows, sequences) slots. */
#define VKF_FIRST_SLOT(first_row, packed_heads, tile_rows, sequence) \
    ((first_row) * (packed_heads) / (tile_rows) + (sequence))

#ifdef __cplusplus
static_assert(sizeof(CallTable) % sizeof(Address) == 0);
static_assert(sizeof(TablePiece) == 128);
} // namespace vkf::shared
#endif

#endif
