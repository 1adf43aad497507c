// SPDX-License-Identifier: MIT
//
// Needs: nothing. Provides: DROPPED.
#ifndef VKF_DROPPED_GLSL
#define VKF_DROPPED_GLSL

// Marks the probability of a key that the row does not see. The marker is not 0: 0 times a value of NaN or infinity
// would be NaN. The kernel skips the value instead. No probability is negative.
#define DROPPED (-1.0)

#endif
