// SPDX-License-Identifier: MIT
//
// Addresses of the optional inputs of a call.
#ifndef VKF_CALL_TABLE_GLSL
#define VKF_CALL_TABLE_GLSL

#include "shared/call_table.h"

layout(buffer_reference, std430, buffer_reference_align = 8) readonly buffer CallTableAt {
    CallTable table;
};

// The address in the extra slot: the address of the only optional input, or of the table.
uvec2 optionalInputs() {
    return uvec2(params.extra_slot_low, params.extra_slot_high);
}

// The address of one optional input.
#define VKF_TABLE_ADDRESS(field)                                                                                       \
    (EXTRA_SLOT == VKF_EXTRA_SLOT_HAS_TABLE ? CallTableAt(optionalInputs()).table.field : optionalInputs())

#endif
