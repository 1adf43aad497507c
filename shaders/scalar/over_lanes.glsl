// SPDX-License-Identifier: MIT
//
// Maximum and sum of a row over the lanes of a group. With VKF_SUBGROUPS the values pass through shuffles, else through
// p_stage.
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
// Writes a value of each row and lane to p_stage. A row of p_stage has at least as many elements as a group has lanes.
// The function has barriers, so every invocation of the workgroup must call it.
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
