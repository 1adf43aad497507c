// SPDX-License-Identifier: MIT
//
// Addresses of what a call brings beside its tensors.
#ifndef VKF_CALL_TABLE_GLSL
#define VKF_CALL_TABLE_GLSL

#include "shared/call_table.h"

layout(buffer_reference, std430, buffer_reference_align = 8) readonly buffer CallTableAt {
    CallTable table;
};

// What stands in the window's place.
uvec2 placedAddress() {
    return uvec2(params.window_left, params.window_right);
}

// Of one field of the table, or the only address there is.
#define VKF_TABLE_ADDRESS(field)                                                                                 \
    (WINDOW_PLACE == VKF_PLACE_TABLE ? CallTableAt(placedAddress()).table.field : placedAddress())

#endif
