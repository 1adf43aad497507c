// SPDX-License-Identifier: MIT
//
// Counts the cycles of a chain of dependent operations. Cycles divided by the measured time give the clock of the
// multiprocessor.
#version 460
#extension GL_ARB_shader_clock : require
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require

#include "measure/clock_rate_params.h"

layout(local_size_x = VKF_CLOCK_RATE_INVOCATIONS) in;

layout(buffer_reference, std430, buffer_reference_align = 8) writeonly buffer Result {
    uint cycles;
    float last;
};

layout(push_constant, std430) uniform PushConstants {
    ClockRateParams params;
};

void main() {
    Result result = Result(params.result);
    uint begin = clock2x32ARB().x;
    // The chain depends on the first reading, and the second reading is in a branch that depends on the chain.
    // Therefore no compiler can move the readings together.
    float value = float(begin & 0xffu);
    for (uint turn = 0; turn < VKF_CLOCK_RATE_TURNS; turn++) {
        [[unroll]] for (uint i = 0; i < 16; i++) {
            value = fma(value, 0.5, 1.0);
        }
    }
    if (value < 1000.0) { // always true; the compiler does not know
        uint cycles = clock2x32ARB().x - begin;
        if (gl_LocalInvocationIndex == 0) {
            result.cycles = cycles;
            result.last = value;
        }
    }
}
