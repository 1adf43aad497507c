/* SPDX-License-Identifier: MIT
 *
 * Push constants of the kernels of an attention call, and the limits of a problem and of its scores.
 * src/problem/score_limits.hpp has the latter for the reference, which includes no shader. */
#ifndef VKF_ATTENTION_PARAMS_H
#define VKF_ATTENTION_PARAMS_H

#include "shared/work_items.h"

/* 2^96. A slope of ALiBi counts as this one at most, so that its product with any distance is finite. */
#define VKF_LARGEST_SLOPE 7.922816251426433759e28f

/* Natural scores below this size have a whole number of log2 as running maximum, if probabilities are rounded. Larger
 * ones have too few bits for that. */
#define VKF_LARGEST_WHOLE_MAXIMUM 4096.0f

#ifdef __cplusplus
namespace vkf::shared {
#endif

/* Index of a tensor in the stride arrays. */
#define VKF_Q 0
#define VKF_K 1
#define VKF_V 2
#define VKF_O 3

/* The push constants after the addresses of a kernel's four tensors.
 *
 *     lse                        address of lse; of m and l of each row if the kernel writes partial results
 *     row_stride                 bytes
 *     head_stride, batch_stride  bytes, shifted right by specialization constant VKF_ID_STRIDE_SHIFT
 *     query_rows, keys           at most VKF_MAX_ROWS (work_items.h has the limits of all counts)
 *     score_scale                scale * unit, or scale / softcap; scores/units.glsl has the unit of scores
 *     softcap                    softcap * unit
 *     extra_slot_low, _high     the extra slot, see below
 *     heads                      query heads | (query heads / KV heads) << 16
 *     first_item                 the work item of workgroup 0; each step of a call has its own
 *
 * Specialization constant VKF_ID_EXTRA_SLOT says what the extra slot holds:
 *   - the left and right reach of the window,
 *   - the two halves of the address of the only optional input, which may be a bias whose strides follow from the call,
 *   - or the two halves of the address of a table of all optional inputs (call_table.h).
 * If the slot holds an address, the reach of the window is in specialization constants. */
#define VKF_CALL_PARAMS                                                                                                \
    Address lse;                                                                                                       \
    Address key_lengths;                                                                                               \
    Uint row_stride[4];                                                                                                \
    Uint head_stride[4];                                                                                               \
    Uint batch_stride[4];                                                                                              \
    Uint query_rows;                                                                                                   \
    Uint keys;                                                                                                         \
    Float score_scale;                                                                                                 \
    Float softcap;                                                                                                     \
    Int extra_slot_low;                                                                                                \
    Int extra_slot_high;                                                                                               \
    Uint heads;                                                                                                        \
    Uint first_item;

/* The push constants of an attention kernel. Every Vulkan 1.2 device has these 128 bytes. */
struct AttentionParams {
    Address q;
    Address k;
    Address v;
    Address o;
    VKF_CALL_PARAMS
};

#ifdef __cplusplus
/* The push constants of any kernel, as the host fills them. Each kernel has its own names for its tensors. */
struct CallParams {
    Address tensor[4];
    VKF_CALL_PARAMS
};
static_assert(sizeof(CallParams) == sizeof(AttentionParams));
static_assert(offsetof(CallParams, lse) == offsetof(AttentionParams, lse));
#endif

/* Push constants of the kernels that run before, after or instead of the attention kernel. Their tensors differ from
 * the tensors of AttentionParams. A number below is the index of a tensor in the stride arrays. */

/* standard_scores.comp, standard_scores_coopmat.comp: S = q k^T, fp32. */
#define VKF_S 3
struct StandardScoresParams {
    Address q;
    Address k;
    Address no_tensor;
    Address s;
    VKF_CALL_PARAMS
};

/* standard_softmax.comp: overwrites S with P in memory. row_state: m and l of each row. */
#define VKF_PROBABILITIES 2
struct StandardSoftmaxParams {
    Address no_tensor;
    Address row_state;
    Address probabilities;
    Address s;
    VKF_CALL_PARAMS
};

/* standard_output.comp, standard_output_coopmat.comp: o = P v / l. */
#define VKF_P 0
struct StandardOutputParams {
    Address p;
    Address row_state;
    Address v;
    Address o;
    VKF_CALL_PARAMS
};

/* finish_rows.comp: o = unscaled_o / l. unscaled_o is fp32, and its rows are complete words of 16 bytes. */
#define VKF_UNSCALED_O 0
struct FinishRowsParams {
    Address unscaled_o;
    Address row_state;
    Address no_tensor;
    Address o;
    VKF_CALL_PARAMS
};

/* dequantize_keys.comp: dequantized_k and dequantized_v are k and v, converted to the type of the matrices. */
#define VKF_DEQUANTIZED_K 0
#define VKF_DEQUANTIZED_V 3
struct DequantizeKeysParams {
    Address dequantized_k;
    Address k;
    Address v;
    Address dequantized_v;
    VKF_CALL_PARAMS
};

/* attention_probabilities.comp. Differs from VKF_CALL_PARAMS: strides of three tensors, and row_count. */
struct ProbabilitiesParams {
    Address q;
    Address k;
    Address probabilities;
    Address chosen_rows; /* int32 numbers of the rows that have probabilities; not used if all rows have them */
    Address lse;
    Address key_lengths;
    Uint row_stride[3];
    Uint head_stride[3];
    Uint batch_stride[3];
    Uint query_rows;
    Uint keys;
    Float score_scale;
    Float softcap;
    Int extra_slot_low;
    Int extra_slot_high;
    Uint heads;
    Uint row_count; /* number of rows of a head that have probabilities */
    Uint first_item;
};

#define VKF_MAX_HEADS 65535
#define VKF_MAX_DIM 256
/* Limits of path decode, for the shapes of latent attention: k has 512 + 64 columns, and v is the first 512 of them. */
#define VKF_MAX_DECODE_DIM 576
#define VKF_MAX_DECODE_VALUE_DIM 512
#define VKF_MAX_SPLITS 1024
/* Rows and keys of a block of a block mask: a multiple of VKF_MIN_MASK_BLOCK, at most VKF_MAX_MASK_BLOCK. The
 * matrices of the cooperative-matrix kernels are not larger than the smallest block. */
#define VKF_MIN_MASK_BLOCK 16
#define VKF_MAX_MASK_BLOCK 65536

#ifdef __cplusplus
static_assert(sizeof(AttentionParams) == 128);
static_assert(offsetof(AttentionParams, row_stride) == 48);
static_assert(offsetof(AttentionParams, query_rows) == 96);
static_assert(offsetof(AttentionParams, first_item) == 124);
static_assert(sizeof(StandardScoresParams) == sizeof(CallParams));
static_assert(sizeof(StandardSoftmaxParams) == sizeof(CallParams));
static_assert(sizeof(StandardOutputParams) == sizeof(CallParams));
static_assert(sizeof(FinishRowsParams) == sizeof(CallParams));
static_assert(offsetof(StandardScoresParams, s) == offsetof(CallParams, tensor) + VKF_S * sizeof(Address));
static_assert(offsetof(StandardSoftmaxParams, probabilities) ==
              offsetof(CallParams, tensor) + VKF_PROBABILITIES * sizeof(Address));
static_assert(offsetof(StandardOutputParams, p) == offsetof(CallParams, tensor) + VKF_P * sizeof(Address));
static_assert(offsetof(FinishRowsParams, unscaled_o) ==
              offsetof(CallParams, tensor) + VKF_UNSCALED_O * sizeof(Address));
static_assert(sizeof(DequantizeKeysParams) == sizeof(CallParams));
static_assert(offsetof(DequantizeKeysParams, dequantized_k) ==
              offsetof(CallParams, tensor) + VKF_DEQUANTIZED_K * sizeof(Address));
static_assert(offsetof(DequantizeKeysParams, dequantized_v) ==
              offsetof(CallParams, tensor) + VKF_DEQUANTIZED_V * sizeof(Address));
static_assert(sizeof(ProbabilitiesParams) == 120);
static_assert(offsetof(ProbabilitiesParams, first_item) == 116);
} // namespace vkf::shared
#endif

#endif
