/* SPDX-License-Identifier: MIT
 *
 * What a launch of a wgmma kernel has besides the push constants of an attention kernel (AttentionParams), and the
 * tiles of these kernels. A launch passes both structs by value. In shaders the numbers of WgmmaConstants are
 * specialization constants; each member says whose value it has (constant_ids.h). */
#ifndef VKF_WGMMA_PARAMS_H
#define VKF_WGMMA_PARAMS_H

#include "shared/attention_params.h"

#ifdef __cplusplus
namespace vkf::shared {
#endif

struct WgmmaConstants {
    Uint head_dim;           /* VKF_ID_HEAD_DIM: columns of q and k, a multiple of 8 */
    Uint value_dim;          /* VKF_ID_VALUE_DIM: columns of v and o, a multiple of 8 */
    Uint type_o;             /* VKF_ID_TYPE_O: fp32 for a partial result */
    Uint stride_shift;       /* VKF_ID_STRIDE_SHIFT */
    Uint sinks;              /* VKF_ID_SINKS */
    Uint softcap;            /* VKF_ID_SOFTCAP */
    Uint alibi;              /* VKF_ID_ALIBI */
    Uint lse;                /* VKF_ID_LSE */
    Uint window;             /* VKF_ID_WINDOW */
    Uint top_left;           /* VKF_ID_TOP_LEFT */
    Uint first_keys;         /* VKF_ID_FIRST_KEYS */
    Uint first_keys_causal;  /* VKF_ID_FIRST_KEYS_CAUSAL */
    Uint key_lengths;        /* VKF_ID_KEY_LENGTHS */
    Uint packed_sequences;   /* VKF_ID_PACKED_SEQUENCES */
    Uint extra_slot;         /* VKF_ID_EXTRA_SLOT */
    Int window_left;         /* VKF_ID_WINDOW_LEFT */
    Int window_right;        /* VKF_ID_WINDOW_RIGHT */
    Uint packed_heads;       /* VKF_ID_PACKED_HEADS */
    Uint interleaved_heads;  /* VKF_ID_INTERLEAVED_HEADS */
    Uint key_splits;         /* VKF_ID_KEY_SPLITS */
};

#ifdef __cplusplus
} // namespace vkf::shared
#endif

#endif
