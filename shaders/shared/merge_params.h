/* SPDX-License-Identifier: MIT
 *
 * Push constants and specialization constants of the two kernels that merge partial results. Strides are in bytes. */
#ifndef VKF_MERGE_PARAMS_H
#define VKF_MERGE_PARAMS_H

#include "shared/work_items.h"

#ifdef __cplusplus
namespace vkf::shared {
#endif

/* Push constants of merge_partials.comp, which merges partial results from any source. */
struct MergeParams {
    Address partials;    /* o of all partial results */
    Address partial_lse; /* fp32 */
    Address o;
    Address lse;
    Address partial_stride;
    Address partial_batch_stride;
    Address partial_head_stride;
    Address partial_row_stride;
    Address o_batch_stride;
    Address o_head_stride;
    Address o_row_stride;
    Address lse_partial_stride;
    Uint partial_count;
    Uint heads;
    Uint rows;
    Uint row_count; /* rows of all heads of all sequences */
    Uint dim;
    Uint first_item;
};

/* Push constants of merge_splits.comp, which merges the key splits of one call. */
struct SplitMergeParams {
    Address partial_o;     /* dense fp32 [sequences, key splits, heads, rows, columns], columns padded to fours */
    Address partial_state; /* m and l of each row of partial_o */
    Address o;
    Address lse;
    Address sinks;
    Address o_batch_stride;
    Address o_head_stride;
    Address o_row_stride;
    Uint heads;
    Uint rows;       /* rows of a head */
    Uint row_count;  /* rows of all heads of all sequences */
    Uint first_item; /* work item of workgroup 0 */
};

#define VKF_MAX_MERGE_DIM 65536

/* Ids of specialization constants. Both kernels: */
#define VKF_MERGE_ID_WORKGROUP_SIZE 0
#define VKF_MERGE_ID_LANES 1   /* invocations that share a row, a power of two */
#define VKF_MERGE_ID_GROUPS 2  /* groups of lanes that share the partial results of a row, a power of two */
#define VKF_MERGE_ID_AT_ONCE 3 /* partial results that an invocation loads at once */
#define VKF_MERGE_ID_TYPE_O 4
#define VKF_MERGE_ID_LSE 5          /* bool */
#define VKF_MERGE_ID_FIXED_ORDER 11 /* bool: partial results without keys at the end do not change the bits */
/* merge_partials.comp: */
#define VKF_MERGE_ID_TYPE_PARTIAL 6
/* merge_splits.comp: */
#define VKF_MERGE_ID_DIM 7 /* columns of o */
#define VKF_MERGE_ID_KEY_SPLITS 8
#define VKF_MERGE_ID_SINKS 9   /* bool */
#define VKF_MERGE_ID_BASE_E 10 /* bool: m is in base e, else in base 2 */
#define VKF_MERGE_ID_COUNT 12

#ifdef __cplusplus
static_assert(sizeof(MergeParams) == 120);
static_assert(sizeof(SplitMergeParams) == 80);
} // namespace vkf::shared
#endif

#endif
