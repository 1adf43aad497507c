// SPDX-License-Identifier: MIT
//
// What the kernels of path coopmat on matrices have in common, in the order in which they need it: the element layout
// of matrices, work items, masks, and the terms of a score.
#ifndef VKF_COOPMAT_PRELUDE_GLSL
#define VKF_COOPMAT_PRELUDE_GLSL

#define VKF_VOTES
#include "common/compilers.glsl"
#define VKF_LANES_ID VKF_ID_SUBGROUP_LANES
#include "common/params.glsl"
#include "matrix/matrix_tile.glsl"
#include "common/address.glsl"
#include "common/element.glsl"
#include "common/item.glsl"
#include "masks/mask.glsl"
#include "masks/block_mask.glsl"
#include "masks/per_key_masks.glsl"
#include "masks/tile_map.glsl"
#define VKF_ADDS_BIAS (HAS_BIAS && !BIAS_IS_MASK)
#include "scores/units.glsl"
#include "scores/final_score.glsl"
#include "scores/score_terms.glsl"
#include "softmax/store_lse.glsl"
#include "scores/dropout.glsl"

#endif
