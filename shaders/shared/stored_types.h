/* SPDX-License-Identifier: MIT
 *
 * Types of stored elements, and how the block types lie in memory. */
#ifndef VKF_STORED_TYPES_H
#define VKF_STORED_TYPES_H

/* Values of the specialization constants of types. They equal the values of VkfType. */
#define VKF_STORED_F32 0
#define VKF_STORED_F16 1
#define VKF_STORED_BF16 2
#define VKF_STORED_F8_E4M3 3
#define VKF_STORED_Q8_0 4
#define VKF_STORED_Q4_0 5
#define VKF_STORED_Q4_1 6
#define VKF_STORED_Q5_0 7
#define VKF_STORED_Q5_1 8
#define VKF_STORED_IQ4_NL 11
#define VKF_STORED_F8_E5M2 12

/* A block of an fp8 type is what kernels load at once: 16 elements of a byte. A block of another type has
 * VKF_BLOCK_ELEMENTS elements. Its bytes are, in this order:
 *   - an fp16 scale
 *   - for some types: an fp16 minimum
 *   - for some types: a word of fifth bits
 *   - codes of four or eight bits */
#define VKF_BLOCK_ELEMENTS 32
#define VKF_FP8_BLOCK_ELEMENTS 16
#define VKF_IS_FP8(type) ((type) == VKF_STORED_F8_E4M3 || (type) == VKF_STORED_F8_E5M2)
#define VKF_ELEMENTS_OF_BLOCK(type) (VKF_IS_FP8(type) ? VKF_FP8_BLOCK_ELEMENTS : VKF_BLOCK_ELEMENTS)
#if defined(__cplusplus) || defined(VKF_CACHES) || defined(VKF_READS_LANE_CHUNKS)
/* glslang takes no && and no || as the right operand of another one in a specialization constant. */
#define VKF_IS_BLOCK_TYPE(type)                                                                                        \
    (((type) >= VKF_STORED_F8_E4M3 && (type) <= VKF_STORED_Q5_1) || (type) == VKF_STORED_IQ4_NL ||                     \
     (type) == VKF_STORED_F8_E5M2)
#else /* shaders for k and v of plain types omit the code for block types */
#define VKF_IS_BLOCK_TYPE(type) false
#endif
#define VKF_BLOCK_HAS_MINIMUM(type) ((type) == VKF_STORED_Q4_1 || (type) == VKF_STORED_Q5_1)
#define VKF_BLOCK_HAS_FIFTH_BITS(type) ((type) == VKF_STORED_Q5_0 || (type) == VKF_STORED_Q5_1)
#define VKF_BLOCK_FIFTH_BITS_AT(type) (VKF_BLOCK_HAS_MINIMUM(type) ? 4 : 2)
#define VKF_BLOCK_CODES_AT(type)                                                                                       \
    (VKF_IS_FP8(type) ? 0 : VKF_BLOCK_FIFTH_BITS_AT(type) + (VKF_BLOCK_HAS_FIFTH_BITS(type) ? 4 : 0))
#define VKF_BLOCK_CODE_BYTES(type) ((type) == VKF_STORED_Q8_0 ? 32 : 16)
#define VKF_BLOCK_BYTES(type) (VKF_BLOCK_CODES_AT(type) + VKF_BLOCK_CODE_BYTES(type))

/* Whether a code is a byte, not a half of one. */
#define VKF_CODES_ARE_BYTES(type) (VKF_IS_FP8(type) || (type) == VKF_STORED_Q8_0)

/* The numbers that the codes 0 to 15 of iq4_nl stand for. They increase. */
#define VKF_IQ4_NL_NUMBERS -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113

/* The 16-bit type of cooperative matrices, from the types of q, k and v:
 *   - the type of q, if q is not fp32
 *   - else the 16-bit type of k or v
 *   - fp16, if both are block types */
#define VKF_IS_16_BIT_TYPE(type) ((type) == VKF_STORED_F16 || (type) == VKF_STORED_BF16)
#define VKF_MATRIX_TYPE(q, k, v)                                                                                       \
    ((q) != VKF_STORED_F32 ? (q) : VKF_IS_16_BIT_TYPE(k) ? (k) : VKF_IS_16_BIT_TYPE(v) ? (v) : VKF_STORED_F16)

#endif
