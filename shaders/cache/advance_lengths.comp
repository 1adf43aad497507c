// SPDX-License-Identifier: MIT
//
// Adds the number of appended rows to the length of each sequence. A length never passes KEYS.
#version 460
#extension GL_GOOGLE_include_directive : require

#include "shared/append_params.h"

layout(local_size_x_id = VKF_APPEND_ID_WORKGROUP_SIZE) in;

layout(constant_id = VKF_APPEND_ID_KEYS) const uint KEYS = 1;

layout(push_constant, std430) uniform PushConstants {
    AdvanceParams params;
};

#include "common/address64.glsl"

void main() {
    uint batch = gl_GlobalInvocationID.x;
    if (batch < params.sequences) {
        Word length = Word(add64(params.lengths, multiply64(batch, 4)));
        length.value = min(uint(clamp(int(length.value), 0, int(KEYS))) + params.rows, KEYS);
    }
}
