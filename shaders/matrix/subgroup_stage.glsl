// SPDX-License-Identifier: MIT
//
// The part of shared memory that belongs to one subgroup. Elements of matrices pass through it.
#ifndef VKF_SUBGROUP_STAGE_GLSL
#define VKF_SUBGROUP_STAGE_GLSL

layout(constant_id = VKF_ID_LOCKSTEP) const bool LOCKSTEP = false;

// Separates writes from reads of the subgroup's part, and reads from the next writes. A subgroup that runs in lockstep
// needs no barrier of its own.
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
