// SPDX-License-Identifier: MIT
//
// Addresses of the optional inputs of a call.
//
// Needs: common/params.glsl, common/address64.glsl. Provides: CallTableAt, placedAddress, VKF_TABLE_ADDRESS.
#ifndef VKF_CALL_TABLE_GLSL
#define VKF_CALL_TABLE_GLSL

#include "shared/call_table.h"

layout(buffer_reference, std430, buffer_reference_align = 8) readonly buffer CallTableAt {
    CallTable table;
};

// The address in the push-constant slot of the window: that of the call's table, or of its only optional input.
uvec2 placedAddress() {
    return uvec2(params.window_left, params.window_right);
}

// The address of one optional input.
#define VKF_TABLE_ADDRESS(field)                                                                                 \
    (WINDOW_PLACE == VKF_PLACE_TABLE ? CallTableAt(placedAddress()).table.field : placedAddress())

#endif
