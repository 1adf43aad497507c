// SPDX-License-Identifier: MIT
//
// Line 15 of the algorithm: stores what a kernel knows of a row besides o.
#ifndef VKF_STORE_LSE_GLSL
#define VKF_STORE_LSE_GLSL

// Stores lse of a row, dense [batch, heads, rows]. With key splits it stores m and l for the merge, as two numbers. In
// one number, a large m would leave no bits for l. Partial results of a problem with a bias are natural, also those of
// a kernel that goes without the bias.
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
