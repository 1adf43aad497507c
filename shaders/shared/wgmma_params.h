/* SPDX-License-Identifier: MIT
 *
 * What a launch of a wgmma kernel has besides the push constants of an attention kernel (AttentionParams), and the
 * tiles of these kernels. A launch passes all structs by value. In shaders the numbers of WgmmaConstants are
 * specialization constants; each member says whose value it has (constant_ids.h).
 *
 * An entry point is a PTX text of its own, so that the driver compiles only what a plan needs. Its name is
 *
 *     "attention_wgmma_" TYPE "_" DIM         scores without terms
 *     "attention_wgmma_" TYPE "_" DIM "_terms"  scores with softcap, ALiBi or both
 *     "attention_wgmma_" TYPE "_256_maps"     scores without terms; copies k and v by tensor maps (usesTensorMaps)
 *
 * where TYPE is f16 or bf16, the type of q, k and v, and DIM is a member `dim` of WGMMA_TILES. The backward pass has
 *
 *     "backward_wgmma_rows_" TYPE "_" DIM    own rows and write dq; DIM of WGMMA_BACKWARD_ROW_TILES
 *     "backward_wgmma_keys_" TYPE "_" DIM    own keys and write dk and dv; DIM of WGMMA_BACKWARD_KEY_TILES
 *
 * and those of 128 columns the same with "_terms". They read BackwardParams as AttentionParams: dout stands in the
 * place of o. A launch has a workgroup for each work item of its step, in x. */
#ifndef VKF_WGMMA_PARAMS_H
#define VKF_WGMMA_PARAMS_H

#include "shared/attention_params.h"

#ifdef __cplusplus
namespace vkf::shared {
#endif

struct WgmmaConstants {
    Uint head_dim;          /* VKF_ID_HEAD_DIM: columns of q and k, a multiple of 8 */
    Uint value_dim;         /* VKF_ID_VALUE_DIM: columns of v and o, a multiple of 8 */
    Uint type_o;            /* VKF_ID_TYPE_O: fp32 for a partial result */
    Uint stride_shift;      /* VKF_ID_STRIDE_SHIFT */
    Uint sinks;             /* VKF_ID_SINKS */
    Uint softcap;           /* VKF_ID_SOFTCAP */
    Uint alibi;             /* VKF_ID_ALIBI */
    Uint lse;               /* VKF_ID_LSE */
    Uint window;            /* VKF_ID_WINDOW */
    Uint top_left;          /* VKF_ID_TOP_LEFT */
    Uint first_keys;        /* VKF_ID_FIRST_KEYS */
    Uint first_keys_causal; /* VKF_ID_FIRST_KEYS_CAUSAL */
    Uint key_lengths;       /* VKF_ID_KEY_LENGTHS */
    Uint packed_sequences;  /* VKF_ID_PACKED_SEQUENCES */
    Uint extra_slot;        /* VKF_ID_EXTRA_SLOT */
    Int window_left;        /* VKF_ID_WINDOW_LEFT */
    Int window_right;       /* VKF_ID_WINDOW_RIGHT */
    Uint packed_heads;      /* VKF_ID_PACKED_HEADS */
    Uint interleaved_heads; /* VKF_ID_INTERLEAVED_HEADS */
    Uint key_splits;        /* VKF_ID_KEY_SPLITS */
    Uint page_rows;         /* VKF_ID_PAGE_ROWS */
    Uint max_pages;         /* VKF_ID_MAX_PAGES */
    Uint pages;             /* VKF_ID_PAGES */
    Uint type_dq;           /* VKF_ID_TYPE_DQ: in the backward pass, as the following ones */
    Uint type_dk;           /* VKF_ID_TYPE_DK */
    Uint type_dv;           /* VKF_ID_TYPE_DV */
};

#ifdef __cplusplus
/* Where the copy engine of the chip finds a tensor, and which boxes it copies (pipelines/tensor_maps.cpp). */
struct alignas(64) TensorMap {
    Uint words[32];
};

/* The third parameter of kernels named "_maps". Dimensions are column, key, KV head and sequence. */
struct WgmmaMaps {
    TensorMap k;
    TensorMap v;
};
inline constexpr Uint WGMMA_MAP_DIM = 256;    /* `dim` of the tile that has such kernels */
inline constexpr Uint WGMMA_MAP_PIECES = 2;   /* of a tile of k, with all of its keys; and of v, with all columns */
inline constexpr Uint WGMMA_BOX_COLUMNS = 64; /* of a box, which has the keys of a piece */

/* The tile of the kernels for one padded dimension. */
struct WgmmaTile {
    Uint dim;          /* largest head and value dimension; smaller ones are padded with zeros on chip */
    Uint rows;         /* packed rows of a workgroup: 64 for each warpgroup that multiplies */
    Uint keys;         /* keys of a tile */
    Uint threads;      /* threads of a workgroup: a warpgroup that copies, then those that multiply */
    Uint shared_bytes; /* dynamic shared memory of a workgroup */
};

/* The larger one of head and value dimension chooses the tile. */
inline constexpr WgmmaTile WGMMA_TILES[] = {
    {64, 192, 128, 512, 49152},
    {128, 192, 64, 512, 49152},
    {256, 128, 32, 384, 49152},
};
/* Tiles of the backward pass. A workgroup that owns rows visits tiles of keys, and one that owns keys visits tiles of
 * rows. */
inline constexpr WgmmaTile WGMMA_BACKWARD_ROW_TILES[] = {
    {64, 192, 64, 512, 32768},
    {128, 128, 64, 384, 49152},
};
inline constexpr WgmmaTile WGMMA_BACKWARD_KEY_TILES[] = {
    {64, 64, 128, 384, 43008},
    {128, 32, 128, 384, 46080},
};
} // namespace vkf::shared
#endif

#endif
