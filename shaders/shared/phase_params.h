/* SPDX-License-Identifier: MIT
 *
 * Push constants of the kernels that run before, after or instead of the attention kernel. Their tensors differ from
 * the tensors of AttentionParams. A number below is the index of a tensor in the stride arrays. */
#ifndef VKF_PHASE_PARAMS_H
#define VKF_PHASE_PARAMS_H

#include "shared/attention_params.h"

#ifdef __cplusplus
namespace vkf::shared {
#endif

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

#ifdef __cplusplus
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
