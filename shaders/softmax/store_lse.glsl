// SPDX-License-Identifier: MIT
//
// Stores lse of a row of an item: line 15 of the algorithm. Merges end rows with softmax/finish.glsl too, but have no
// items.
#ifndef VKF_STORE_LSE_GLSL
#define VKF_STORE_LSE_GLSL

#include "softmax/finish.glsl"

// lse is dense [batch, heads, rows]. With key splits it stores m and l for the merge, as two
// numbers. In one number, a large m would leave no bits for l. Partial results of a problem with a bias are natural,
// also those of a kernel that goes without the bias.
void storeLse(const Item item, const uint row, const float m, const float l, const FinishedRow finished) {
    uvec2 index = rowNumber(item, row);
    if (KEY_SPLITS > 1) {
        uvec2 bytes = SHIFT64(index, 3);
        Word2(add64(params.lse, bytes)).value = floatBitsToUint(vec2(HAS_BIAS ? toNatural(m) : m, l));
        return;
    }
    uvec2 bytes = SHIFT64(index, 2);
    Word(add64(params.lse, bytes)).value = floatBitsToUint(finished.lse);
}

#endif
