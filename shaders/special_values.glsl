// SPDX-License-Identifier: MIT
//
// NaN and infinity in v. The matrix unit multiplies by the zero probability of a row that does not see a key, so
// that in tiles of keys which some row does not see wholly such values are zeros there, and reach the rows that do
// see them at the end.
#ifndef VKF_SPECIAL_VALUES_GLSL
#define VKF_SPECIAL_VALUES_GLSL

// Set where a value that some row of its tile must not see was NaN or infinite and became 0.
shared uint special_values;

// With zeros for what is not a finite number, because the matrix unit would multiply it by the zero
// probability of a row that does not see its key.
uvec4 finiteHalves(uvec4 word) {
#ifdef VKF_MATRIX_BF16
    const uint exponent = 0x7f80u;
#else
    const uint exponent = 0x7c00u;
#endif
    bvec4 low = equal(word & exponent, uvec4(exponent));
    bvec4 high = equal(word & (exponent << 16), uvec4(exponent << 16));
    if (any(low) || any(high)) {
        special_values = 1u;
    }
    return mix(word & 0xffffu, uvec4(0), low) | mix(word & 0xffff0000u, uvec4(0), high);
}

// What the values that became zeros on their way to the matrix unit add to four columns of a row: infinity
// or NaN, whatever their probability.
vec4 specialValues(Item item, HalfRows v, uint row, uint column) {
    ivec2 visible = visibleKeys(item, row);
    vec4 sum = vec4(0.0);
    [[dont_unroll]] for (int key = visible.x; key < visible.y; key++) {
        if (HAS_BLOCK_MASK && !isOpen(openBlocks(row, uint(key)), uint(key), uint(key))) {
            continue;
        }
        vec4 x = loadRow4(halfRowAddress(v, uint(key)), column, VALUE_DIM, TYPE_V);
        bvec4 special = equal(floatBitsToUint(x) & 0x7f800000u, uvec4(0x7f800000u));
        sum += mix(vec4(0.0), x, special);
    }
    return sum;
}

#endif
