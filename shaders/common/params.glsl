// SPDX-License-Identifier: MIT
//
// Specialization constants and push constants of a call, and what follows from them.
//
// Rule for variants:
//   - Macros choose types and extensions, because GLSL cannot specialize those.
//   - Specialization constants choose every number and boolean.
//   - Push constants carry what differs from call to call.
//
// An include uses what the files before it declare. The entry file of a kernel lists them in this order.
//
// Kernels define VKF_LANES_ID if they have lanes, VKF_PUSH_CONSTANTS if they have other tensors than attention,
// VKF_CACHES if k and v may be of block types, and VKF_PAGES if they may be in pages.
#ifndef VKF_PARAMS_GLSL
#define VKF_PARAMS_GLSL

#include "functions/hooks.glsl"
#include "shared/attention_params.h"
#include "shared/constant_ids.h"
#include "shared/stored_types.h"
#include "shared/tile_memory.h"

layout(local_size_x_id = VKF_ID_WORKGROUP_SIZE) in;

layout(constant_id = VKF_ID_WORKGROUP_SIZE) const uint WORKGROUP_SIZE = 64;
#ifdef VKF_LANES_ID // the id says what the lanes of the kernel share: a query row, a key, a subgroup
layout(constant_id = VKF_LANES_ID) const uint LANES = 8;
#endif
layout(constant_id = VKF_ID_HEAD_DIM) const uint HEAD_DIM = 64;
layout(constant_id = VKF_ID_VALUE_DIM) const uint VALUE_DIM = 64;
layout(constant_id = VKF_ID_TYPE_Q) const uint TYPE_Q = VKF_STORED_F32;
layout(constant_id = VKF_ID_TYPE_K) const uint TYPE_K = VKF_STORED_F32;
layout(constant_id = VKF_ID_TYPE_V) const uint TYPE_V = VKF_STORED_F32;
layout(constant_id = VKF_ID_TYPE_O) const uint TYPE_O = VKF_STORED_F32;
layout(constant_id = VKF_ID_WINDOW) const bool HAS_WINDOW = false;
layout(constant_id = VKF_ID_TOP_LEFT) const bool TOP_LEFT = false;
layout(constant_id = VKF_ID_POSITIONS) const uint POSITIONS = VKF_POSITIONS_NONE;
layout(constant_id = VKF_ID_ROW_STRIDE) const int ROW_STRIDE = 1; // from the position of a row to that of the next one
layout(constant_id = VKF_ID_KEY_STRIDE) const int KEY_STRIDE = 1;
layout(constant_id = VKF_ID_KEY_LENGTHS) const bool HAS_KEY_LENGTHS = false;
layout(constant_id = VKF_ID_SOFTCAP) const bool HAS_SOFTCAP = false;
layout(constant_id = VKF_ID_LSE) const bool HAS_LSE = false;
layout(constant_id = VKF_ID_KEY_SPLITS) const uint KEY_SPLITS = 1;
layout(constant_id = VKF_ID_SPLIT_TILES) const uint SPLIT_TILES = 0;
layout(constant_id = VKF_ID_STRIDE_SHIFT) const uint STRIDE_SHIFT = 0;
layout(constant_id = VKF_ID_MASK_BLOCK) const uint MASK_BLOCK = 0;
layout(constant_id = VKF_ID_PAGE_ROWS) const uint PAGE_ROWS = 0;
layout(constant_id = VKF_ID_PAGES_ARE_COPIED) const bool PAGES_ARE_COPIED = false;
layout(constant_id = VKF_ID_PACKED_SEQUENCES) const bool PACKED_SEQUENCES = false;
layout(constant_id = VKF_ID_EXTRA_SLOT) const uint EXTRA_SLOT = VKF_EXTRA_SLOT_HAS_WINDOW;
layout(constant_id = VKF_ID_WINDOW_LEFT) const int WINDOW_LEFT = 0;
layout(constant_id = VKF_ID_WINDOW_RIGHT) const int WINDOW_RIGHT = 0;

layout(constant_id = VKF_ID_CHOSEN_KEYS) const uint CHOSEN_KEYS = 0; // entries of a list; 0 = no lists
layout(constant_id = VKF_ID_LIST_DIMENSIONS) const uint LIST_DIMENSIONS = 0;

const bool HAS_BLOCK_MASK = MASK_BLOCK != 0;
const bool HAS_CHOSEN_KEYS = CHOSEN_KEYS != 0;
const bool LISTS_BY_ROW = (LIST_DIMENSIONS & VKF_LISTS_BY_ROW) != 0; // rows that differ share no tile
#ifdef VKF_PAGES
const bool HAS_PAGES = PAGE_ROWS != 0; // a block table has the pages of keys
#else
const bool HAS_PAGES = false;
#endif
const bool PAGED = HAS_PAGES && !PAGES_ARE_COPIED; // k and v lie in pages

// shared/attention_params.h also has the push constants of kernels with other tensors.
#ifndef VKF_PUSH_CONSTANTS
#define VKF_PUSH_CONSTANTS AttentionParams
#endif
layout(push_constant, std430) uniform PushConstants {
    VKF_PUSH_CONSTANTS params;
};

// The tile, head, sequence and key split of a workgroup.
struct Item {
    uint batch; // sequence
    uint head;  // query head; the first one if several are packed
    uint kv_head;
    uint split; // key split
    // Number of the partial result: sequence * KEY_SPLITS + split, which is the sequence if there is one split. With
    // packed sequences: the split.
    uint partial_result;
    uint row_begin; // first packed row of the tile
    uint keys;      // keys of this sequence
    int offset;     // query row i stands at i ROW_STRIDE + offset, where key j stands at j KEY_STRIDE
    uint rows;      // query rows of this sequence; code reads it only with packed sequences (SEQUENCE_ROWS)
    uint first_row; // first row of this sequence in the tensors, with packed sequences; else 0
    uint first_key; // first key of this sequence in the tensors, with packed sequences; else 0, and 0 with pages
};

// Number of query heads, in all and of one KV head.
#define QUERY_HEADS (params.heads & 0xffffu)
#define KV_HEAD_QUERY_HEADS (params.heads >> 16)

// Number of query rows of the item's sequence.
#define SEQUENCE_ROWS(item) (PACKED_SEQUENCES ? (item).rows : params.query_rows)

#endif
