// SPDX-License-Identifier: MIT
//
// Maximum and sum of a row over the lanes of a group: by shuffles, or through p_stage where a device has none.
//
// Needs: scalar/scalar_tile.glsl, scalar/output.glsl (p_stage).
// Provides: maximumOverLanes, sumOverLanes.
#ifndef VKF_OVER_LANES_GLSL
#define VKF_OVER_LANES_GLSL

#ifdef VKF_SUBGROUPS
void maximumOverLanes(inout float x[THREAD_ROWS], const uint group, const uint lane) {
    UNROLL for (uint distance = LANES / 2; distance > 0; distance /= 2) {
        UNROLL for (uint row = 0; row < THREAD_ROWS; row++) {
            x[row] = max(x[row], subgroupShuffleXor(x[row], distance));
        }
    }
}

void sumOverLanes(inout float x[THREAD_ROWS], const uint group, const uint lane) {
    UNROLL for (uint distance = LANES / 2; distance > 0; distance /= 2) {
        UNROLL for (uint row = 0; row < THREAD_ROWS; row++) {
            x[row] += subgroupShuffleXor(x[row], distance);
        }
    }
}
#else
// Without shuffles, values go through p_stage, whose rows have at least as many places as a group has lanes. Every
// invocation of the workgroup must come here.
void exchangeOverLanes(float x[THREAD_ROWS], const uint group, const uint lane) {
    barrier();
    UNROLL for (uint row = 0; row < THREAD_ROWS; row++) {
        p_stage[tileRow(group, row) * P_ROW_WORDS + lane / 4][lane % 4] = x[row];
    }
    barrier();
}

float exchanged(const uint group, const uint row, const uint lane) {
    return p_stage[tileRow(group, row) * P_ROW_WORDS + lane / 4][lane % 4];
}

void maximumOverLanes(inout float x[THREAD_ROWS], const uint group, const uint lane) {
    exchangeOverLanes(x, group, lane);
    UNROLL for (uint row = 0; row < THREAD_ROWS; row++) {
        for (uint other = 0; other < LANES; other++) {
            x[row] = max(x[row], exchanged(group, row, other));
        }
    }
    barrier();
}

void sumOverLanes(inout float x[THREAD_ROWS], const uint group, const uint lane) {
    exchangeOverLanes(x, group, lane);
    UNROLL for (uint row = 0; row < THREAD_ROWS; row++) {
        x[row] = 0.0;
        for (uint other = 0; other < LANES; other++) {
            x[row] += exchanged(group, row, other);
        }
    }
    barrier();
}
#endif

#endif
