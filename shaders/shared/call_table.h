/* SPDX-License-Identifier: MIT
 *
 * What a call brings beside its tensors, for which the push constants have one place: a table in scratch memory, which
 * write_table.comp fills before anything else of the call runs. Its words are push constants of that kernel, as many as
 * fit at a time. */
#ifndef VKF_CALL_TABLE_H
#define VKF_CALL_TABLE_H

#include "attention_params.h"

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
};

#define VKF_TABLE_PIECE_WORDS 29

/* Push constants of write_table.comp. */
struct TablePiece {
    Address to;
    Uint count; /* of words */
    Uint word[VKF_TABLE_PIECE_WORDS];
};

#ifdef __cplusplus
static_assert(sizeof(CallTable) % sizeof(Address) == 0);
static_assert(sizeof(TablePiece) == 128);
} // namespace vkf::shared
#endif

#endif
