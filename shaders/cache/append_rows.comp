// SPDX-License-Identifier: MIT
//
// Appends new rows of k and v to a cache, or rotates rows of q. LANES invocations take a row through shared memory:
// loaded, rotated pair by pair, stored in the target's type. gl_WorkGroupID.y is the tensor.
#version 460
#extension GL_GOOGLE_include_directive : require

#include "shared/append_params.h"
#include "shared/constant_ids.h"
#include "shared/tile_memory.h"

layout(local_size_x_id = VKF_APPEND_ID_WORKGROUP_SIZE) in;

layout(constant_id = VKF_APPEND_ID_WORKGROUP_SIZE) const uint WORKGROUP_SIZE = 64;
layout(constant_id = VKF_APPEND_ID_LANES) const uint LANES = 8;
layout(constant_id = VKF_APPEND_ID_HEADS) const uint HEADS = 1;
layout(constant_id = VKF_APPEND_ID_SOURCE_TYPE) const uint SOURCE_TYPE_0 = VKF_STORED_F32;
layout(constant_id = VKF_APPEND_ID_SOURCE_TYPE + 1) const uint SOURCE_TYPE_1 = VKF_STORED_F32;
layout(constant_id = VKF_APPEND_ID_TARGET_TYPE) const uint TARGET_TYPE_0 = VKF_STORED_F32;
layout(constant_id = VKF_APPEND_ID_TARGET_TYPE + 1) const uint TARGET_TYPE_1 = VKF_STORED_F32;
layout(constant_id = VKF_APPEND_ID_DIM) const uint DIM_0 = 64;
layout(constant_id = VKF_APPEND_ID_DIM + 1) const uint DIM_1 = 64;
layout(constant_id = VKF_APPEND_ID_CACHE) const bool CACHE = true;
layout(constant_id = VKF_APPEND_ID_KEYS) const uint KEYS = 1;
layout(constant_id = VKF_APPEND_ID_PAGE_SIZE) const uint PAGE_SIZE = 0;
layout(constant_id = VKF_APPEND_ID_MAX_PAGES) const uint MAX_PAGES = 1;
layout(constant_id = VKF_APPEND_ID_PAGES) const uint PAGES = 1;
layout(constant_id = VKF_APPEND_ID_PACKED) const bool PACKED = false;
layout(constant_id = VKF_APPEND_ID_POSITIONS) const bool POSITIONS = false;
layout(constant_id = VKF_APPEND_ID_HEAD_STRIDE_LOW) const uint HEAD_STRIDE_LOW = 0;
layout(constant_id = VKF_APPEND_ID_HEAD_STRIDE_HIGH) const uint HEAD_STRIDE_HIGH = 0;
layout(constant_id = VKF_APPEND_ID_SCALES) const uint SCALES = VKF_SCALES_NONE;
layout(constant_id = VKF_APPEND_ID_PAIRS) const uint PAIRS = 0;
layout(constant_id = VKF_APPEND_ID_ROTARY_DIM) const uint ROTARY_DIM = 64;
layout(constant_id = VKF_APPEND_ID_RATIO_LOW) const uint RATIO_LOW = 0;
layout(constant_id = VKF_APPEND_ID_RATIO_HIGH) const uint RATIO_HIGH = 0;
layout(constant_id = VKF_APPEND_ID_TABLE_ROWS) const uint TABLE_ROWS = 0;
layout(constant_id = VKF_APPEND_ID_CACHE_STRIDE) const uint CACHE_STRIDE_0 = 0;
layout(constant_id = VKF_APPEND_ID_CACHE_STRIDE + 1) const uint CACHE_STRIDE_1 = 0;
layout(constant_id = VKF_APPEND_ID_CACHE_STRIDE + 2) const uint CACHE_STRIDE_2 = 0;
layout(constant_id = VKF_APPEND_ID_CACHE_STRIDE + 3) const uint CACHE_STRIDE_3 = 0;
layout(constant_id = VKF_APPEND_ID_CACHE_STRIDE + 4) const uint CACHE_STRIDE_4 = 0;
layout(constant_id = VKF_APPEND_ID_CACHE_STRIDE + 5) const uint CACHE_STRIDE_5 = 0;
layout(constant_id = VKF_APPEND_ID_CACHE_STRIDE + 6) const uint CACHE_STRIDE_6 = 0;
layout(constant_id = VKF_APPEND_ID_CACHE_STRIDE + 7) const uint CACHE_STRIDE_7 = 0;
layout(constant_id = VKF_APPEND_ID_CACHE_STRIDE + 8) const uint CACHE_STRIDE_8 = 0;
layout(constant_id = VKF_APPEND_ID_CACHE_STRIDE + 9) const uint CACHE_STRIDE_9 = 0;
layout(constant_id = VKF_APPEND_ID_CACHE_STRIDE + 10) const uint CACHE_STRIDE_10 = 0;
layout(constant_id = VKF_APPEND_ID_CACHE_STRIDE + 11) const uint CACHE_STRIDE_11 = 0;

layout(push_constant, std430) uniform PushConstants {
    AppendParams params;
};

const uint ROWS = WORKGROUP_SIZE / LANES; // of a workgroup
const uint STAGED = (VKF_MAX_WORDS(DIM_0, DIM_1) + 3) / 4 * 4;

shared float staged[ROWS * STAGED];

#include "common/address64.glsl"
#include "common/element.glsl"
// Converts fp32 to fp16 and bf16 in integer arithmetic: to nearest, ties to even. Every device gives the same bits.
// packHalf2x16 would not: Vulkan leaves its rounding to the driver. A finite value past the largest 16-bit number
// becomes the largest one.

#define FP32_INFINITY 0x7f800000u

// value / 2^shift, rounded to nearest, ties to even; `shift` is 1 to 24.
uint shiftRounded(const uint value, const uint shift) {
    return (value + (1u << (shift - 1)) - 1u + ((value >> shift) & 1u)) >> shift;
}

uint roundF16(const float x) {
    uint sign = (floatBitsToUint(x) >> 16) & 0x8000u;
    uint magnitude = floatBitsToUint(x) & 0x7fffffffu;
    if (magnitude >= FP32_INFINITY) {
        return sign | (magnitude == FP32_INFINITY ? 0x7c00u : 0x7e00u);
    }
    if (magnitude >= 113u << 23) { // normal in fp16 too
        return sign | min(shiftRounded(magnitude, 13) - (112u << 10), 0x7bffu);
    }
    uint shift = 126u - (magnitude >> 23); // to steps of 2^-24
    return shift > 24u ? sign : sign | shiftRounded((magnitude & 0x7fffffu) | 0x800000u, shift);
}

uint roundBf16(const float x) {
    uint sign = (floatBitsToUint(x) >> 16) & 0x8000u;
    uint magnitude = floatBitsToUint(x) & 0x7fffffffu;
    if (magnitude >= FP32_INFINITY) {
        return sign | (magnitude == FP32_INFINITY ? 0x7f80u : 0x7fc0u);
    }
    return sign | min(shiftRounded(magnitude, 16), 0x7f7fu);
}

// Four elements as they are stored, in the form of packWords (common/element.glsl).
uvec4 roundWords(const vec4 x, const uint type) {
    if (type == VKF_STORED_F32) {
        return floatBitsToUint(x);
    }
    uvec4 bits = type == VKF_STORED_F16 ? uvec4(roundF16(x.x), roundF16(x.y), roundF16(x.z), roundF16(x.w))
                                        : uvec4(roundBf16(x.x), roundBf16(x.y), roundBf16(x.z), roundBf16(x.w));
    return uvec4(bits.x | bits.y << 16, bits.z | bits.w << 16, 0, 0);
}
// Angles of rotary embeddings. The unit is one turn, and an angle is a 64-bit fraction of a turn. Integer
// multiplication of position and frequency drops complete turns and keeps the rest exactly. A product in fp32 would
// lose the rest from some thousand positions on. This file computes cosine and sine itself, because Vulkan promises
// only an error of 2^-11 for the built-in functions.

// Upper half of the product of two 64-bit numbers. The result may be some units too small.
uvec2 multiplyHigh64(const uvec2 a, const uvec2 b) {
    uint high, low;
    umulExtended(a.y, b.x, high, low);
    uvec2 product = add64(multiply64(a.y, b.y), uvec2(high, 0));
    umulExtended(a.x, b.y, high, low);
    return add64(product, uvec2(high, 0));
}

// The angle of pair t from one position to the next: ratio^t / (2 pi) turns, as a 64-bit fraction.
uvec2 frequency(uvec2 ratio, uint t) {
    uvec2 turns = uvec2(0x9391054au, 0x28be60dbu); // 1 / (2 pi)
    for (; t != 0; t >>= 1) {
        turns = (t & 1u) != 0 ? multiplyHigh64(turns, ratio) : turns;
        ratio = multiplyHigh64(ratio, ratio);
    }
    return turns;
}

// Cosine and sine of the angle `turn` / 2^32 turns.
vec2 cosineSine(const uint turn) {
    uint quarter = (turn + 0x20000000u) >> 30;                             // the nearest quarter turn
    float x = float(int(turn - (quarter << 30))) * 1.46291807926715969e-9; // 2 pi / 2^32
    float u = x * x;
    float s = x * fma(fma(fma(fma(2.7557319e-6, u, -1.9841270e-4), u, 8.3333333e-3), u, -0.16666667), u, 1.0);
    float c =
        fma(fma(fma(fma(fma(-2.7557319e-7, u, 2.4801587e-5), u, -1.3888889e-3), u, 4.1666667e-2), u, -0.5), u, 1.0);
    vec2 rotated = (quarter & 1u) == 0 ? vec2(c, s) : vec2(-s, c);
    return (quarter & 2u) == 0 ? rotated : -rotated;
}
#include "cache/quantize.glsl"

// Batch, head and row.
uvec2 rowAddressOf(const uvec2 base, const uvec2 batch_stride, const uvec2 head_stride, const uvec2 row_stride,
                   const uvec3 coordinates) {
    uvec2 address = add64(base, multiply64(coordinates.x, batch_stride));
    return add64(add64(address, multiply64(coordinates.y, head_stride)), multiply64(coordinates.z, row_stride));
}

uvec2 sourceRow(const uint tensor, const uvec3 coordinates) {
    uint s = VKF_APPEND_SOURCE_STRIDES(tensor);
    uvec2 head_stride = params.stride[s + 1];
    if (POSITIONS) {
        head_stride = tensor == 0 ? uvec2(HEAD_STRIDE_LOW, HEAD_STRIDE_HIGH) : head_stride;
    }
    return rowAddressOf(params.source[tensor], params.stride[s], head_stride, params.stride[s + 2], coordinates);
}

uvec2 targetRow(const uint tensor, const uvec3 coordinates) {
    if (!CACHE) {
        return rowAddressOf(params.target[0], params.stride[VKF_APPEND_QUERY_TARGET_STRIDES],
                            params.stride[VKF_APPEND_QUERY_TARGET_STRIDES + 1],
                            params.stride[VKF_APPEND_QUERY_TARGET_STRIDES + 2], coordinates);
    }
    if (tensor == 0) {
        return rowAddressOf(params.target[0], uvec2(CACHE_STRIDE_0, CACHE_STRIDE_1),
                            uvec2(CACHE_STRIDE_2, CACHE_STRIDE_3), uvec2(CACHE_STRIDE_4, CACHE_STRIDE_5), coordinates);
    }
    return rowAddressOf(params.target[1], uvec2(CACHE_STRIDE_6, CACHE_STRIDE_7), uvec2(CACHE_STRIDE_8, CACHE_STRIDE_9),
                        uvec2(CACHE_STRIDE_10, CACHE_STRIDE_11), coordinates);
}

// Packed rows: the first row of a sequence.
uint firstRowOf(const uint sequence) {
    uvec2 address = add64(params.stride[VKF_APPEND_CU_SEQLENS], multiply64(sequence, 4));
    return uint(clamp(int(Word(address).value), 0, int(params.rows)));
}

// Packed rows: the last sequence that begins at a row or before it.
uint sequenceOfRow(const uint row) {
    uint first = 0;
    uint end = params.stride[VKF_APPEND_SEQUENCES].x;
    while (end - first > 1) {
        uint middle = (first + end) / 2;
        if (firstRowOf(middle) <= row) {
            first = middle;
        } else {
            end = middle;
        }
    }
    return first;
}

uint lengthOf(const uint sequence) {
    return uint(clamp(int(Word(add64(params.lengths, multiply64(sequence, 4))).value), 0, int(KEYS)));
}

void storeNewLength(const uint sequence, const uint new_length) {
    Word(add64(params.new_lengths, multiply64(sequence, 4))).value = min(new_length, KEYS);
}

// Where a position lies in the cache; false if nowhere.
bool findCacheRow(const uint position, inout uvec3 coordinates) {
    if (position >= KEYS) {
        return false;
    }
    coordinates.z = position;
    if (PAGE_SIZE != 0) {
        uvec2 entry = add64(params.block_table, multiply64(coordinates.x, MAX_PAGES * 4));
        coordinates.x = Word(add64(entry, uvec2(position / PAGE_SIZE * 4, 0))).value;
        coordinates.z = position % PAGE_SIZE;
        return coordinates.x < PAGES;
    }
    return true;
}

vec2 cosineSineAt(const uint position, const uint t) {
    if (TABLE_ROWS == 0) {
        return cosineSine(multiply64(position, frequency(uvec2(RATIO_LOW, RATIO_HIGH), t)).y);
    }
    uvec2 bytes = multiply64(min(position, TABLE_ROWS - 1), ROTARY_DIM * 2);
    bytes = add64(bytes, uvec2(t * 4, 0));
    return uintBitsToFloat(
        uvec2(Word(add64(params.cos_table, bytes)).value, Word(add64(params.sin_table, bytes)).value));
}

// The position by which a new row is rotated. `position` is where it stands in the cache.
uint rotaryPosition(const uvec3 coordinates, const uint position) {
    if (!POSITIONS) {
        return position;
    }
    uvec2 address = add64(params.stride[VKF_APPEND_POSITIONS], multiply64(coordinates.x * params.rows, 4));
    return uint(max(int(Word(add64(address, multiply64(coordinates.z, 4))).value), 0));
}

void rotateRow(const uint begin, const uint lane, const uint position) {
    for (uint t = lane; t < ROTARY_DIM / 2; t += LANES) {
        uint first = begin + (PAIRS == VKF_PAIRS_HALVES ? t : 2 * t);
        uint second = PAIRS == VKF_PAIRS_HALVES ? first + ROTARY_DIM / 2 : first + 1;
        vec2 turned = cosineSineAt(position, t);
        float x = staged[first];
        float y = staged[second];
        staged[first] = x * turned.x - y * turned.y;
        staged[second] = x * turned.y + y * turned.x;
    }
}

// Four elements, as storeRow4 does, but rounded the same on every device.
void storeRounded4(const uvec2 row, const uint column, const uint dim, const uint type, const vec4 x) {
    uvec4 words = roundWords(x, type);
    if (!isAligned4(row, 0, type) || column + 4 > dim) {
        for (uint i = 0; i < 4; i++) {
            storeElement(row, column, dim, type, words, i);
        }
        return;
    }
    uvec2 address = add64(row, uvec2(column * elementBytes(type), 0));
    if (type == VKF_STORED_F32) {
        Word4(address).value = words;
    } else {
        Word2(address).value = words.xy;
    }
}

// The number that the dispatch's tensor is divided by, of a KV head.
float scaleOf(const uint head) {
    uint index = SCALES == VKF_SCALES_BY_HEAD ? head : 0;
    return uintBitsToFloat(Word(add64(params.source[VKF_APPEND_SCALES], uvec2(index * 4, 0))).value);
}

void storeStaged(const uvec2 row, const uint type, const uint dim, const uint begin, const uint lane, const uint head) {
    float scale = SCALES == VKF_SCALES_NONE ? 1.0 : scaleOf(head);
    for (uint word = lane; word * 4 < dim; word += LANES) {
        uint first = begin + word * 4;
        if (VKF_IS_FP8(type)) {
            uint codes = 0;
            for (uint i = 0; i < 4; i++) {
                float x = staged[first + i];
                codes |= roundFp8(SCALES == VKF_SCALES_NONE ? x : dividedBy(scale, x), type) << (8 * i);
            }
            Word(add64(row, uvec2(word * 4, 0))).value = codes;
            continue;
        }
#ifdef VKF_STORAGE_16BIT
        if (VKF_IS_BLOCK_TYPE(type)) {
            uvec2 block = add64(row, uvec2(word / 8 * VKF_BLOCK_BYTES(type), 0));
            storeBlockPiece(block, type, begin + word / 8 * VKF_BLOCK_ELEMENTS, word % 8);
            continue;
        }
#endif
        vec4 x = vec4(staged[first], staged[first + 1], staged[first + 2], staged[first + 3]);
        storeRounded4(row, word * 4, dim, type, x);
    }
}

void main() {
    uint tensor = gl_WorkGroupID.y;
    uint group = gl_LocalInvocationIndex / LANES;
    uint lane = gl_LocalInvocationIndex % LANES;
    uint number = VKF_ROW_OF_ITEM(gl_WorkGroupID.z * VKF_APPEND_GROUPS + gl_WorkGroupID.x, ROWS, group);
    bool exists = number < params.row_count;
    uint head = number / params.rows;
    uvec3 coordinates = uvec3(head / HEADS, head % HEADS, number % params.rows);
    uint dim = tensor == 0 ? DIM_0 : DIM_1;
    uint begin = group * STAGED;
    uint sequence = coordinates.x;
    uint index = coordinates.z; // of the row in its sequence
    if (PACKED && exists) {
        sequence = sequenceOfRow(coordinates.z);
        exists = coordinates.z >= firstRowOf(sequence) && coordinates.z < firstRowOf(sequence + 1);
        index -= firstRowOf(sequence);
    }
    uint position = 0;
    if (exists) {
        position = lengthOf(sequence) + index;
        uint type = tensor == 0 ? SOURCE_TYPE_0 : SOURCE_TYPE_1;
        uvec2 row = sourceRow(tensor, coordinates);
        bool aligned4 = isAligned4(row, 0, type);
        for (uint word = lane; word * 4 < dim; word += LANES) {
            vec4 x = aligned4 && word * 4 + 4 <= dim
                         ? loadAligned4(add64(row, uvec2(word * 4 * elementBytes(type), 0)), type)
                         : loadRow4(row, word * 4, dim, type);
            for (uint i = 0; i < 4; i++) {
                staged[begin + word * 4 + i] = x[i];
            }
        }
    }
    barrier();
    if (PAIRS != 0 && exists && tensor == 0) {
        rotateRow(begin, lane, rotaryPosition(coordinates, position));
    }
    barrier();
    bool writes_lengths = CACHE && tensor == 0 && lane == 0 && params.new_lengths != uvec2(0);
    if (PACKED && writes_lengths && number < params.stride[VKF_APPEND_SEQUENCES].x) { // sequences without rows too
        uint first = firstRowOf(number);
        storeNewLength(number, lengthOf(number) + max(firstRowOf(number + 1), first) - first);
    }
    if (!exists) {
        return;
    }
    if (!PACKED && writes_lengths && coordinates.y == 0 && coordinates.z == 0) {
        storeNewLength(sequence, position + params.rows);
    }
    coordinates.x = CACHE ? sequence : coordinates.x;
    if (!CACHE || findCacheRow(position, coordinates)) {
        storeStaged(targetRow(tensor, coordinates), tensor == 0 ? TARGET_TYPE_0 : TARGET_TYPE_1, dim, begin, lane,
                    coordinates.y);
    }
}
