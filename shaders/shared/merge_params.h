/* SPDX-License-Identifier: MIT
 *
 * What merge_parts.comp and the library must agree on. Strides are in bytes. */
#ifndef VKF_MERGE_PARAMS_H
#define VKF_MERGE_PARAMS_H

#include "shared/attention_params.h"

#ifdef __cplusplus
namespace vkf::shared {
#endif

struct MergeParams {
    Address parts;
    Address part_lse;
    Address o;
    Address lse;
    Address part_stride;
    Address part_batch_stride;
    Address part_head_stride;
    Address part_row_stride;
    Address o_batch_stride;
    Address o_head_stride;
    Address o_row_stride;
    Address lse_part_stride;
    Uint part_count;
    Uint heads;
    Uint rows;
    Uint row_count; /* of all heads of all sequences */
    Uint dim;
    Uint first_item;
};

#define VKF_MAX_MERGE_DIM 65536

/* Specialization constants. */
#define VKF_MERGE_ID_WORKGROUP_SIZE 0
#define VKF_MERGE_ID_LANES 1     /* invocations that share a row, a power of two */
#define VKF_MERGE_ID_GROUPS 2    /* groups of lanes that share the parts of a row, a power of two */
#define VKF_MERGE_ID_TYPE_PART 3
#define VKF_MERGE_ID_TYPE_O 4
#define VKF_MERGE_ID_LSE 5       /* bool */

#ifdef __cplusplus
static_assert(sizeof(MergeParams) == 120);
} // namespace vkf::shared
#endif

#endif
