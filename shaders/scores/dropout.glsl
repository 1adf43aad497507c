// SPDX-License-Identifier: MIT
//
// Dropout: which probabilities stay out of o. The generator of VkfDropout (include/vkflash/problem.h) or a mask from
// the caller decides. A dropped key stays visible, and l includes it. The kept probabilities are scaled where o is
// divided by l.
#ifndef VKF_DROPOUT_GLSL
#define VKF_DROPOUT_GLSL

#include "masks/broadcast_rows.glsl"
#include "cache/scales.glsl"
#include "common/item.glsl"

layout(constant_id = VKF_ID_DROPOUT) const uint DROPOUT = VKF_DROPOUT_NONE;
layout(constant_id = VKF_ID_DROPOUT_THRESHOLD) const uint DROPOUT_THRESHOLD = 0;
layout(constant_id = VKF_ID_DROPOUT_SCALE) const float DROPOUT_SCALE = 1.0;

const bool HAS_DROPOUT = DROPOUT != VKF_DROPOUT_NONE;
const bool HAS_DROPOUT_MASK = DROPOUT == VKF_DROPOUT_BYTES || DROPOUT == VKF_DROPOUT_BITS;
const uint LOG_DROPOUT_BITS = DROPOUT == VKF_DROPOUT_BYTES ? 3 : 0;

// The generator's key or the mask of one query row.
struct RowDropout {
    uvec2 key; // of the generator
    BroadcastRow mask;
    uint last_key; // of the sequence
};

// Two words of Philox4x32-10 (Salmon et al. 2011). It has too many multiplications for each element, so it runs once
// for a row. staysIn has a shorter hash for the keys of the row.
uvec2 generatorKey(const uvec2 seed, const uint batch, const uint head, const uint row) {
    uvec4 counter = uvec4(row, head, batch, 0);
    uvec2 key = seed;
    KEEP_LOOP for (uint i = 0; i < 10; i++) {
        uvec2 high, low;
        umulExtended(uvec2(0xd2511f53u, 0xcd9e8d57u), counter.xz, high, low);
        counter = uvec4(high.y ^ counter.y ^ key.x, low.y, high.x ^ counter.w ^ key.y, low.x);
        key += uvec2(0x9e3779b9u, 0xbb67ae85u);
    }
    return counter.xy;
}

// A row past the last one has the generator key or mask of the last row.
RowDropout rowDropout(const Item item, const uint head, const uint row) {
    RowDropout dropout = RowDropout(uvec2(0), BroadcastRow(uvec2(0), 0), item.keys - 1);
    if (HAS_DROPOUT) {
        CallTable table = CallTableAt(optionalInputs()).table;
        uint existing = min(row, SEQUENCE_ROWS(item) - 1);
        if (HAS_DROPOUT_MASK) {
            dropout.mask = broadcastRow(table.dropout, table.dropout_stride, table.dropout_repeats, item.batch, head,
                                        existing, LOG_DROPOUT_BITS);
        } else {
            uvec2 seed = DROPOUT == VKF_DROPOUT_DEVICE_SEED ? Word2(table.dropout).value : table.dropout;
            dropout.key = generatorKey(seed, item.batch, head, existing);
        }
    }
    return dropout;
}

// Whether the probability of the key enters o. The sequence must have keys. Past the last key the result has no
// meaning.
bool staysIn(const RowDropout dropout, const uint key) {
    if (HAS_DROPOUT_MASK) {
        const uint bits = DROPOUT == VKF_DROPOUT_BYTES ? 0xffu : 1u;
        return (broadcastBits(dropout.mask, min(key, dropout.last_key), LOG_DROPOUT_BITS) & bits) != 0;
    }
    uint x = key * 0x9e3779b9u + dropout.key.x;
    x = (x ^ x >> 16) * 0x21f0aaadu;
    x = ((x ^ x >> 15) ^ dropout.key.y) * 0x735a2d97u;
    return (x ^ x >> 15) >= DROPOUT_THRESHOLD;
}

// The factor of a row of o, multiplied by the scale of the kept probabilities, and by that of v.
float scaledByDropout(const float factor) {
    return HAS_DROPOUT ? SCALED_VALUES(factor * DROPOUT_SCALE) : SCALED_VALUES(factor);
}

#endif
