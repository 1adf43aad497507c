// SPDX-License-Identifier: MIT
//
// A subgroup's own part of shared memory, through which elements of matrices pass.
//
// Needs: common/params.glsl, matrix/matrix_layout.glsl. Provides: stageBarrier, packProbabilities.
#ifndef VKF_SUBGROUP_STAGE_GLSL
#define VKF_SUBGROUP_STAGE_GLSL

layout(constant_id = VKF_ID_LOCKSTEP) const bool LOCKSTEP = false;

// Stands between writes and reads of the subgroup's part, and before it is written again.
void stageBarrier() {
    subgroupMemoryBarrierShared();
    if (!LOCKSTEP) {
        subgroupBarrier();
    }
}

// Two probabilities in 16 bits, rounded to nearest.
uint packProbabilities(const float low, const float high) {
    if (MATRICES_ARE_BF16) {
        return (BF16_BITS(low) >> 16) | (BF16_BITS(high) & 0xffff0000u);
    }
    return packFloat2x16(f16vec2(low, high));
}

#endif
