/* SPDX-License-Identifier: MIT
 *
 * Push constants of the kernels of an attention call, and the limits of a problem. */
#ifndef VKF_ATTENTION_PARAMS_H
#define VKF_ATTENTION_PARAMS_H

#include "shared/language.h"

#ifdef __cplusplus
namespace vkf::shared {
#endif

/* Index of a tensor in the stride arrays and in the type constants. */
#define VKF_Q 0
#define VKF_K 1
#define VKF_V 2
#define VKF_O 3

/* One call of a kernel. 128 bytes, what every Vulkan 1.2 device has.
 *
 * Row strides are in bytes; head and batch strides in bytes >> stride_shift (a specialization constant,
 * 0 unless a stride passes 4 GiB). Rows and keys stay below 2^30, and the window is clamped to that,
 * so that i + offset +- window fits an int.
 *
 * What else a call brings (a block mask, a block table, sinks, ...) has the place of the window: the address of the
 * only such thing, low half first, or that of a table of all of them (call_table.h). The window is then in
 * specialization constants. */
struct AttentionParams {
    Address q;
    Address k;
    Address v;
    Address o;
    Address lse;
    Address key_lengths;
    Uint row_stride[4];
    Uint head_stride[4];
    Uint batch_stride[4];
    Uint query_rows;
    Uint keys;
    Float score_scale; /* scale * log2(e), or scale / softcap */
    Float softcap;     /* softcap * log2(e) */
    Int window_left;
    Int window_right;
    Uint heads;      /* query heads | (query heads / kv heads) << 16 */
    Uint first_item; /* work item of workgroup 0: steps of one call differ in it */
};

#define VKF_MAX_ROWS 0x3fffffff
#define VKF_UNLIMITED_LEFT 0x40000000
#define VKF_UNLIMITED_RIGHT 0x3fffffff
#define VKF_MAX_HEADS 65535
#define VKF_MAX_DIM 256
/* On path decode, for the shapes of latent attention: k of 512 and 64 columns, v the first 512 of them. */
#define VKF_MAX_DECODE_DIM 576
#define VKF_MAX_DECODE_VALUE_DIM 512
#define VKF_MAX_SPLITS 1024
/* Rows and keys of a block of a block mask: a multiple of the first, up to the second. Matrices of the kernels on
 * cooperative matrices are no larger than the smallest block. */
#define VKF_LEAST_MASK_BLOCK 16
#define VKF_MAX_MASK_BLOCK 65536

#ifdef __cplusplus
static_assert(sizeof(AttentionParams) == 128);
static_assert(offsetof(AttentionParams, row_stride) == 48);
static_assert(offsetof(AttentionParams, query_rows) == 96);
static_assert(offsetof(AttentionParams, first_item) == 124);
} // namespace vkf::shared
#endif

#endif
