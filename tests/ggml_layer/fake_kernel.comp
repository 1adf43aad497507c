// SPDX-License-Identifier: MIT
//
// Kernels with the interfaces of ggml-vulkan's, which the layer knows them by. They compute nothing. Each writes a
// number of its own, so that a test sees which kernel ran.
//
//     FAKE_ATTENTION   the attention kernel
//     FAKE_OLDER       the attention kernel of ggml before 0.27, without binding 7
//     FAKE_REDUCTION   the kernel that joins its splits
//     FAKE_ECHO        no kernel of ggml's: copies its push constants, which are those of the attention kernel
#version 450
layout(local_size_x_id = 0) in;

#ifdef FAKE_REDUCTION
layout(constant_id = 0) const uint WORKGROUP_SIZE = 1;
layout(push_constant) uniform Push { uint value_dim, heads, rows, sequences, splits, sinks; } push;
layout(binding = 0) readonly buffer Splits { float splits[]; };
layout(binding = 1) readonly buffer Sinks { float sinks[]; };
layout(binding = 2) writeonly buffer Result { float result[]; };

void main() {
    float nothing = 0 * (splits[0] + sinks[0]) + float(push.sinks - push.sinks);
    for (uint i = 0; i < push.value_dim * push.heads * push.rows * push.sequences; i++) {
        result[i] = 2000 + nothing;
    }
}
#else
layout(constant_id = 0) const uint WORKGROUP_SIZE = 1;
#ifndef FAKE_ECHO
layout(constant_id = 1) const uint TILE_ROWS = 1;
layout(constant_id = 2) const uint TILE_KEYS = 1;
layout(constant_id = 3) const uint HEAD_DIM = 1;
layout(constant_id = 4) const uint VALUE_DIM = 1;
layout(constant_id = 5) const uint C5 = 0;
layout(constant_id = 6) const uint C6 = 0;
layout(constant_id = 7) const uint C7 = 0;
layout(constant_id = 8) const uint C8 = 0;
layout(constant_id = 9) const uint C9 = 0;
layout(constant_id = 10) const uint FLAGS = 0;
layout(constant_id = 11) const uint C11 = 0;
layout(constant_id = 12) const uint KEY_TYPE = 0;
layout(constant_id = 13) const uint VALUE_TYPE = 0;
layout(constant_id = 14) const uint C14 = 0;
layout(constant_id = 15) const uint C15 = 0;
#endif
layout(push_constant) uniform Push {
    uint p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12, p13, p14, p15, p16, p17, p18, p19, p20, p21, p22;
    float p23, p24, p25;
    uint p26;
    float p27, p28;
    uint p29, p30, p31;
} push;
layout(binding = 0) readonly buffer Q { float q[]; };
layout(binding = 1) readonly buffer K { float k[]; };
layout(binding = 2) readonly buffer V { float v[]; };
layout(binding = 3) readonly buffer Mask { float mask[]; };
layout(binding = 4) readonly buffer Sinks { float sinks[]; };
layout(binding = 5) writeonly buffer Result { float result[]; };
layout(binding = 6) readonly buffer MaskTiles { float mask_tiles[]; };
#ifdef FAKE_OLDER
const float key_index = 0;
#else
layout(binding = 7) readonly buffer KeyIndices { float key_indices[]; };
#define key_index key_indices[0]
#endif

void main() {
#ifdef FAKE_ECHO
    result[0] = push.p23;
    result[1] = float(push.p31);
    result[2] = float(push.p0 + push.p1 + push.p2 + push.p3);
#else
    float used = float(WORKGROUP_SIZE + TILE_ROWS + TILE_KEYS + HEAD_DIM + VALUE_DIM + C5 + C6 + C7 + C8 + C9 + FLAGS +
                       C11 + KEY_TYPE + VALUE_TYPE + C14 + C15);
    float bound = q[0] + k[0] + v[0] + mask[0] + sinks[0] + mask_tiles[0] + key_index + push.p23;
    for (uint i = 0; i < result.length(); i++) {
        result[i] = used == -1 ? bound : 1000;
    }
#endif
}
#endif
