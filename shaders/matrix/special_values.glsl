// SPDX-License-Identifier: MIT
//
// Infinite values and NaN in v. A row that does not see their key has probability zero, but a matrix unit would still
// multiply, and the product would be NaN. So these values become zeros before the matrix unit sees them. After the last
// tile, the kernel adds to o what these values add to it.
#ifndef VKF_SPECIAL_VALUES_GLSL
#define VKF_SPECIAL_VALUES_GLSL

#include "cache/block_types.glsl"
#include "scores/dropout.glsl"
#include "cache/paging.glsl"
#include "common/compilers.glsl"
#include "common/chosen_keys.glsl"
#include "matrix/finite_halves.glsl"

// Not 0 if an infinite value or a NaN became 0, in a tile where some row must not see it.
shared uint special_values;

// Replaces infinity and NaN among the 16-bit elements of a word by zeros.
uvec4 finiteHalves(const uvec4 word) {
    uvec4 carried = carriedExponents(word);
    if (!hasSpecialHalves(carried)) {
        return word;
    }
    VKF_SET_SHARED_FLAG(special_values, 1u);
    return withoutSpecialHalves(word, carried);
}

// Elements of block types may exceed the largest fp16. An fp16 matrix has infinity there, so the function returns
// infinity for them.
vec4 infiniteAsHalves(const vec4 x) {
    if (VKF_IS_BLOCK_TYPE(TYPE_V) && !MATRICES_ARE_BF16) {
        vec4 infinite = uintBitsToFloat((floatBitsToUint(x) & 0x80000000u) | 0x7f800000u);
        return mix(x, infinite, greaterThanEqual(abs(x), vec4(VKF_OVERFLOW_F16)));
    }
    return x;
}

// The sum of the values that became zeros, for four columns of a row. They add infinity or NaN, whatever their
// probability.
vec4 specialValues(const Item item, const uvec2 v_head, const uint row, const uint column) {
    ivec2 visible = visibleKeys(item, row);
#ifdef VKF_PER_KEY_MASKS_GLSL
    RowMasks masks = rowMasks(item, item.head, row);
#endif
    RowDropout dropout = rowDropout(item, item.head, row);
    vec4 sum = vec4(0.0);
    ivec2 numbers = HAS_CHOSEN_KEYS ? ivec2(0, list_end) : visible;
    KEEP_LOOP for (int number = numbers.x; number < numbers.y; number++) {
        uint key = HAS_CHOSEN_KEYS ? listEntry(uint(number), list_end) : uint(number);
        if ((HAS_CHOSEN_KEYS && !isVisible(visible, key)) || !IS_PAGE(tableEntry(item.batch, key))) {
            continue;
        }
#ifdef VKF_BLOCK_MASK_GLSL // only in kernels with block masks
        if (HAS_BLOCK_MASK && !isOpen(openBlocks(row, key), key, key)) {
            continue;
        }
#endif
#ifdef VKF_PER_KEY_MASKS_GLSL
        if (!isUnmasked(masks, key)) {
            continue;
        }
#else
        UNLESS_KEPT(item, row, key, continue)
#endif
        uvec2 v_row = keyAddress(v_head, VKF_V, pageOf(item.batch, key), key);
        vec4 x = infiniteAsHalves(loadElements4(v_row, column, VALUE_DIM, TYPE_V));
        bvec4 special = equal(floatBitsToUint(x) & 0x7f800000u, uvec4(0x7f800000u));
        if (HAS_DROPOUT && !staysIn(dropout, key)) {
            x = vec4(uintBitsToFloat(0x7fc00000u)); // a dropped probability is 0, and 0 times infinity is NaN
        }
        sum += mix(vec4(0.0), x, special);
    }
    return sum;
}

#endif
