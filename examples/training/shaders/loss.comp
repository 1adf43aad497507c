// SPDX-License-Identifier: MIT
//
// Cross entropy. An invocation has one row: it writes the loss of the row, and replaces the scores by the gradient of the
// mean loss.
#version 460
#extension GL_EXT_buffer_reference : require

layout(local_size_x = 64) in;

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Floats {
    float at[];
};
layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer Uints {
    uint at[];
};

layout(push_constant, std430) uniform Arguments {
    Floats scores;
    Uints answers;
    Floats losses;
    uint rows;
    uint columns;
};

void main() {
    const uint row = gl_GlobalInvocationID.x;
    if (row >= rows) {
        return;
    }
    const uint first = row * columns;
    const uint answer = first + answers.at[row];
    float sum = 0.0;
    for (uint i = first; i < first + columns; i++) {
        sum += exp(scores.at[i]);
    }
    losses.at[row] = log(sum) - scores.at[answer];
    for (uint i = first; i < first + columns; i++) {
        scores.at[i] = (exp(scores.at[i]) / sum - (i == answer ? 1.0 : 0.0)) / float(rows);
    }
}
