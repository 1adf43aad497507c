// SPDX-License-Identifier: MIT
//
// Reads two arrays of 16-byte words once and does nothing with them. `vkflash bench decode` compares its calls with it.
// An invocation has VKF_READS loads in flight.
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require

#include "measure/plain_read_params.h"

layout(local_size_x = VKF_READ_WORKGROUP_SIZE) in;

layout(buffer_reference, std430, buffer_reference_align = 16) buffer Words {
    uvec4 word[];
};

layout(push_constant, std430) uniform PushConstants {
    PlainReadParams params;
};

void main() {
    bool second = gl_WorkGroupID.x >= params.workgroups;
    Words words = Words(second ? params.array[1] : params.array[0]);
    uint existing = second ? params.words[1] : params.words[0];
    uint begin = (gl_WorkGroupID.x - (second ? params.workgroups : 0)) * VKF_READ_WORKGROUP_WORDS;
    uvec4 read[VKF_READS];
    [[unroll]] for (uint i = 0; i < VKF_READS; i++) {
        read[i] = words.word[min(begin + i * VKF_READ_WORKGROUP_SIZE + gl_LocalInvocationIndex, existing - 1)];
    }
    uvec4 all_bits = uvec4(0xffffffffu);
    [[unroll]] for (uint i = 0; i < VKF_READS; i++) {
        all_bits &= read[i];
    }
    // Never true for the arrays of the bench, but the compiler does not know that.
    if (all_bits == uvec4(0xffffffffu)) {
        words.word[begin] = uvec4(0);
    }
}
