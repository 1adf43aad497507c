/* SPDX-License-Identifier: MIT
 *
 * Push constants and specialization constants of append_rows.comp and advance_lengths.comp. A dispatch of
 * append_rows.comp moves one tensor, q, or two tensors, k and v. Strides are in bytes. The strides of a cache are
 * specialization constants, because they do not depend on the number of new rows. */
#ifndef VKF_APPEND_PARAMS_H
#define VKF_APPEND_PARAMS_H

#include "shared/work_items.h"

#ifdef __cplusplus
namespace vkf::shared {
#endif

struct AppendParams {
    Address source[2];
    Address target[2];
    Address lengths;
    Address new_lengths; /* 0 = the kernel does not write them */
    Address block_table;
    Address cos_table;
    Address sin_table;
    Address stride[6]; /* batch, head and row stride of a tensor, from index VKF_APPEND_*_STRIDES on */
    Uint rows;         /* new rows of each sequence; of all sequences, if they are packed */
    Uint row_count;    /* new rows of all heads of all sequences */
};

/* Indices in `stride`. A dispatch of k and v has the strides of two sources. A dispatch of q has the strides of its
 * source and of its target. */
#define VKF_APPEND_SOURCE_STRIDES(tensor) ((tensor)*3)
#define VKF_APPEND_QUERY_TARGET_STRIDES 3
/* With positions by which rows are rotated, their address is in the place of the head stride of tensor 0, which is a
 * specialization constant then. */
#define VKF_APPEND_POSITIONS 1
/* Packed rows have no batch strides. In their places are the address of cuSeqlens, and the number of sequences. */
#define VKF_APPEND_CU_SEQLENS 0
#define VKF_APPEND_SEQUENCES 3
/* Where k or v has scales, each has a dispatch of its own. In place of a second source is the address of the scales of
 * the dispatch's tensor. */
#define VKF_APPEND_SCALES 1

/* Push constants of advance_lengths.comp. */
struct AdvanceParams {
    Address lengths;
    Uint rows; /* new rows of each sequence */
    Uint sequences;
};

#define VKF_MAX_APPEND_DIM 1024
/* Most workgroups in the first dimension of a dispatch. The third dimension counts further rows of workgroups. */
#define VKF_APPEND_GROUPS 32768

#define VKF_PAIRS_HALVES 1
#define VKF_PAIRS_INTERLEAVED 2

/* Ids of specialization constants. Where there are two ids, they belong to the two tensors of a dispatch. */
#define VKF_APPEND_ID_WORKGROUP_SIZE 0
#define VKF_APPEND_ID_LANES 1 /* invocations that share a row, a power of two */
#define VKF_APPEND_ID_HEADS 2
#define VKF_APPEND_ID_SOURCE_TYPE 3 /* and 4 */
#define VKF_APPEND_ID_TARGET_TYPE 5 /* and 6 */
#define VKF_APPEND_ID_DIM 7         /* and 8 */
#define VKF_APPEND_ID_CACHE 9       /* bool: rows go to a cache, where lengths say; else rows of q go to a tensor */
#define VKF_APPEND_ID_KEYS 10
#define VKF_APPEND_ID_PAGE_SIZE 11 /* 0 = no pages */
#define VKF_APPEND_ID_MAX_PAGES 12
#define VKF_APPEND_ID_PAGES 13
#define VKF_APPEND_ID_PAIRS 14 /* 0 = nothing is rotated */
#define VKF_APPEND_ID_ROTARY_DIM 15
#define VKF_APPEND_ID_RATIO_LOW 16 /* base^(-2 / dim) as a 64-bit fraction */
#define VKF_APPEND_ID_RATIO_HIGH 17
#define VKF_APPEND_ID_TABLE_ROWS 18
/* And 11 more: batch, head and row stride of k, then of v. The low half of a stride comes before its high half. */
#define VKF_APPEND_ID_CACHE_STRIDE 19
#define VKF_APPEND_ID_PACKED 31          /* bool: new rows of all sequences are packed */
#define VKF_APPEND_ID_POSITIONS 32       /* bool: an array says by which positions rows are rotated */
#define VKF_APPEND_ID_HEAD_STRIDE_LOW 33 /* head stride of tensor 0, with such positions */
#define VKF_APPEND_ID_HEAD_STRIDE_HIGH 34
#define VKF_APPEND_ID_SCALES 35 /* VKF_SCALES_* of the dispatch's only tensor */
#define VKF_APPEND_ID_COUNT 36

#ifdef __cplusplus
static_assert(sizeof(AppendParams) == 128);
} // namespace vkf::shared
#endif

#endif
