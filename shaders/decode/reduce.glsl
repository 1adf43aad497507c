// SPDX-License-Identifier: MIT
//
// Line 8 of the algorithm (attention_decode.comp): adds up the partial scores of a group's lanes. Each lane gets the
// sums. The lanes use shuffles, or shared memory on a device without shuffles.
//
// Needs: decode/globals.glsl (s_tile, thread, group), o_stage of decode/join.glsl, decode/tile.glsl.
// Provides: sumOverLanes.
#ifndef VKF_DECODE_REDUCE_GLSL
#define VKF_DECODE_REDUCE_GLSL

#ifdef VKF_SUBGROUPS
void sumOverLanes() {
    UNROLL for (uint distance = LANES / 2; distance > 0; distance /= 2) {
        UNROLL for (uint i = 0; i < LANE_GROUP_ROWS * LANE_GROUP_KEYS; i++) {
            s_tile[i] += subgroupShuffleXor(s_tile[i], distance);
        }
    }
}
#else
// Adds four scores at a time through the memory of o_stage. Every invocation of the workgroup must call this function.
void sumOverLanes() {
    UNROLL for (uint first = 0; first < LANE_GROUP_ROWS * LANE_GROUP_KEYS; first += 4) {
        uint count = min(LANE_GROUP_ROWS * LANE_GROUP_KEYS - first, 4);
        barrier();
        UNROLL for (uint i = 0; i < 4; i++) {
            if (i < count) {
                o_stage[thread][i] = s_tile[first + i];
            }
        }
        barrier();
        UNROLL for (uint i = 0; i < 4; i++) {
            if (i < count) {
                s_tile[first + i] = 0.0;
                for (uint other = 0; other < LANES; other++) {
                    s_tile[first + i] += o_stage[group * LANES + other][i];
                }
            }
        }
    }
}
#endif

#endif
