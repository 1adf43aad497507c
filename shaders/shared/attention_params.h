/* SPDX-License-Identifier: MIT
 *
 * Push constants of the kernels of an attention call, and the limits of a problem. */
#ifndef VKF_ATTENTION_PARAMS_H
#define VKF_ATTENTION_PARAMS_H

#include "shared/language.h"

#ifdef __cplusplus
namespace vkf::shared {
#endif

/* Index of a tensor in the stride arrays. */
#define VKF_Q 0
#define VKF_K 1
#define VKF_V 2
#define VKF_O 3

/* The push constants behind the addresses of a kernel's four tensors.
 *
 * lse: of finished rows. Partial results have m and l of each row there instead.
 * row_stride: in bytes. head_stride, batch_stride: in bytes >> the constant VKF_ID_STRIDE_SHIFT.
 * query_rows, keys: below 2^30. The window is clamped to that, so that i + offset +- window fits an int.
 * score_scale: scale * log2(e), or scale / softcap. softcap: softcap * log2(e).
 * window_slot_low, window_slot_high: the constant VKF_ID_WINDOW_SLOT says which of three the slot holds. The left and
 * right reach of the window; the two halves of the address of the only optional input; or those of the address of a
 * table of all of them (call_table.h). With an address, the window's reach is in specialization constants.
 * heads: query heads | (query heads / KV heads) << 16.
 * first_item: the work item of workgroup 0. The steps of a call differ in it. */
#define VKF_CALL_PARAMS                                                                                              \
    Address lse;                                                                                                     \
    Address key_lengths;                                                                                             \
    Uint row_stride[4];                                                                                              \
    Uint head_stride[4];                                                                                             \
    Uint batch_stride[4];                                                                                            \
    Uint query_rows;                                                                                                 \
    Uint keys;                                                                                                       \
    Float score_scale;                                                                                               \
    Float softcap;                                                                                                   \
    Int window_slot_low;                                                                                             \
    Int window_slot_high;                                                                                            \
    Uint heads;                                                                                                      \
    Uint first_item;

/* A kernel of attention. 128 bytes, what every Vulkan 1.2 device has. */
struct AttentionParams {
    Address q;
    Address k;
    Address v;
    Address o;
    VKF_CALL_PARAMS
};

#ifdef __cplusplus
/* The push constants of any kernel, as the host fills them. Each kernel has its own names for its tensors
 * (phase_params.h). */
struct CallParams {
    Address tensor[4];
    VKF_CALL_PARAMS
};
static_assert(sizeof(CallParams) == sizeof(AttentionParams));
static_assert(offsetof(CallParams, lse) == offsetof(AttentionParams, lse));
#endif

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
