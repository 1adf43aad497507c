// SPDX-License-Identifier: MIT
//
// The end of path key_outer (key_outer.glsl). The kernel divides o by l once, and computes lse. The division belongs to
// line 12 of algorithm 1 of the first paper (Dao et al. 2022, arXiv 2205.14135). A row without a visible key may have
// no state in memory, so the kernel loads none.
//
// An invocation holds four columns of one row. LANES invocations, a power of two, share a row.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "common/compilers.glsl"
#include "shared/attention_params.h"
#define VKF_PUSH_CONSTANTS FinishRowsParams
#define VKF_LANES_ID VKF_ID_FINISH_LANES
#include "common/params.glsl"

layout(constant_id = VKF_ID_SEQUENCES) const uint SEQUENCES = 1;
const uint TILE_ROWS = 1;

#include "common/address.glsl"
#include "common/element.glsl"
#include "common/item.glsl"
#include "masks/mask.glsl"
#include "scores/units.glsl"
#include "softmax/stored_state.glsl"
#include "softmax/store_lse.glsl"
#include "scores/dropout.glsl"

const uint ROWS = WORKGROUP_SIZE / LANES; // of a workgroup
const uint WORDS = (VALUE_DIM + 3) / 4;

void main() {
    uint number = VKF_ROW_OF_ITEM(params.first_item + gl_WorkGroupID.x, ROWS, gl_LocalInvocationIndex / LANES);
    uint word = gl_LocalInvocationIndex % LANES;
    if (number / params.query_rows / QUERY_HEADS >= SEQUENCES || word >= WORDS) {
        return;
    }
    Item item = itemOf(number);
    uint row = item.row_begin;
    ivec2 visible = visibleKeys(item, row);
    vec2 state = vec2(MINUS_INFINITY, 0.0);
    vec4 o = vec4(0.0);
    if (visible.x < visible.y) {
        state = loadRowState(params.row_state, item, row); // m, l
        uvec2 address =
            rowAddress(headAddress(params.unscaled_o, VKF_UNSCALED_O, item.batch, item.head), VKF_UNSCALED_O, row);
        o = uintBitsToFloat(Word4(add64(address, uvec2(word * 16, 0))).value);
    }
    FinishedRow finished = finishRow(item.head, state.x, state.y);
    o *= scaledByDropout(inverseOfSum(finished.l)); // 12: o / l
    uvec2 head = headAddress(params.o, VKF_O, item.batch, item.head);
    storeRow4(rowAddress(head, VKF_O, row), word * 4, VALUE_DIM, TYPE_O,
              isAligned4(head, params.row_stride[VKF_O], TYPE_O), finished.l == 0.0 ? vec4(0.0) : o);
    if (HAS_LSE && word == 0) {
        storeLse(item, row, state.x, state.y, finished);
    }
}
