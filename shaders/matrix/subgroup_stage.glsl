// SPDX-License-Identifier: MIT
//
// What of a cooperative matrix passes through shared memory of its own subgroup.
#ifndef VKF_SUBGROUP_STAGE_GLSL
#define VKF_SUBGROUP_STAGE_GLSL

layout(constant_id = VKF_ID_LOCKSTEP) const bool LOCKSTEP = false;

// Between writes and reads of the subgroup's part of the memory, and before it is written anew.
void stageBarrier() {
    subgroupMemoryBarrierShared();
    if (!LOCKSTEP) {
        subgroupBarrier();
    }
}

// Two probabilities, to nearest. For bf16 not left to the conversion, which was seen to cut the lower bits off; ties go
// up.
uint packProbabilities(const float low, const float high) {
    if (MATRICES_ARE_BF16) {
        return ((floatBitsToUint(low) + 0x8000u) >> 16) | ((floatBitsToUint(high) + 0x8000u) & 0xffff0000u);
    }
    return packFloat2x16(f16vec2(low, high));
}

#endif
