// SPDX-License-Identifier: MIT
//
// The tile of backward_sums.comp: what a workgroup owns and sums up, and which subgroup has which part.
#ifndef VKF_SUMS_TILE_GLSL
#define VKF_SUMS_TILE_GLSL

layout(constant_id = VKF_ID_OWNER) const uint OWNER = VKF_OWNS_ROWS;
layout(constant_id = VKF_ID_WRITES_DV) const bool WRITES_DV = false; // a workgroup that owns keys: dv, else dk
layout(constant_id = VKF_ID_OWNED_MATRICES) const uint OWNED_MATRICES = 1;
layout(constant_id = VKF_ID_VISITED_STEPS) const uint VISITED_STEPS = 1;
layout(constant_id = VKF_ID_DEPTH_SUBGROUPS) const uint DEPTH_SUBGROUPS = 1;
layout(constant_id = VKF_ID_WHOLE_WORDS) const bool WHOLE_WORDS = true;
layout(constant_id = VKF_ID_TYPE_DOUT) const uint TYPE_DOUT = VKF_STORED_F32;
layout(constant_id = VKF_ID_TYPE_DQ) const uint TYPE_DQ = VKF_STORED_F32;
layout(constant_id = VKF_ID_TYPE_DK) const uint TYPE_DK = VKF_STORED_F32;
layout(constant_id = VKF_ID_TYPE_DV) const uint TYPE_DV = VKF_STORED_F32;
layout(constant_id = VKF_ID_PAIRS_BY_LANE) const bool PAIRS_BY_LANE = false;
layout(constant_id = VKF_ID_BAND_TILE_ROWS) const uint BAND_TILE_ROWS = 1;
layout(constant_id = VKF_ID_BAND_TILE_KEYS) const uint BAND_TILE_KEYS = 1;

const bool OWNS_KEYS = OWNER == VKF_OWNS_KEYS;
const uint SUMS_DIM = OWNS_KEYS && WRITES_DV ? VALUE_DIM : HEAD_DIM;
const uint TYPE_VISITED = !OWNS_KEYS ? TYPE_K : WRITES_DV ? TYPE_DOUT : TYPE_Q;
const uint TYPE_SUMS = !OWNS_KEYS ? TYPE_DQ : WRITES_DV ? TYPE_DV : TYPE_DK;
const uint VISITED_TENSOR = !OWNS_KEYS ? VKF_K : WRITES_DV ? VKF_DOUT : VKF_Q;

const uint SUBGROUPS = WORKGROUP_SIZE / LANES;
const uint SUBGROUP_OWNED = OWNED_MATRICES * MATRIX_ROWS;
const uint OWNED = SUBGROUPS / DEPTH_SUBGROUPS * SUBGROUP_OWNED;
const uint COLUMN_MATRICES = VKF_BACKWARD_SHARE(SUMS_DIM, MATRIX_COLUMNS, DEPTH_SUBGROUPS); // of a subgroup
const uint COLUMNS = DEPTH_SUBGROUPS * COLUMN_MATRICES * MATRIX_COLUMNS;
const uint STEP = VISITED_STEPS * MATRIX_DEPTH;
const uint TILE_ROWS = OWNS_KEYS ? STEP : OWNED;

#endif
