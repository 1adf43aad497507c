// SPDX-License-Identifier: MIT
//
// The additive bias of the cooperative-matrix kernel. An invocation's keys follow each other (matrix_tile.glsl), so
// that it has LANE_KEYS neighbours of each row's bias: as pieces of 16 bytes, words, or element by element, however the
// rows lie in memory. They are asked for while o takes in the tile before, in the registers that its scores have left;
// where rows begin is kept in shared memory.
#ifndef VKF_MATRIX_BIAS_GLSL
#define VKF_MATRIX_BIAS_GLSL

const bool BIAS_IN_WORDS = LANE_KEYS * BIAS_BITS % 32 == 0;
const uint PIECE_WORDS = BIAS_WORDS % 4 == 0 ? 4 : BIAS_WORDS % 2 == 0 ? 2 : 1;

layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer BiasWords {
    uint at[];
};

layout(buffer_reference, std430, buffer_reference_align = 8) readonly buffer BiasPairs {
    uvec2 at[];
};

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer BiasPieces {
    uvec4 at[];
};

void beginBias(const uint thread) {
    if (!HAS_BIAS) {
        return;
    }
    CallTable table = CallTableAt(placedAddress()).table;
    uint bits = table.bias_stride[0].x | table.bias_stride[1].x | table.bias_stride[2].x | table.bias.x << 3;
    bias_in_words = BIAS_IN_WORDS && (bits & 31u) == 0;
    bias_in_pieces = BIAS_IN_WORDS && (bits & PIECE_WORDS * 32 - 1) == 0;
    for (uint i = thread; i < TILE_ROWS; i += WORKGROUP_SIZE) {
        uint packed_row = min(item.row_begin + i, packedRows(item) - 1);
        BroadcastRow row = broadcastRow(table.bias, table.bias_stride, item.batch, queryHead(item, packed_row),
                                        queryRow(packed_row), LOG_BIAS_BITS);
        bias_rows[i] = add64(row.address, uvec2(row.first * (BIAS_BITS / 8), 0));
    }
}

// Of the i-th of an invocation's rows.
uvec2 biasRow(const uint i) {
    return bias_rows[subgroup * SUBGROUP_ROWS + lanePlace(lane).x + laneRow(i)];
}

void fetchBiasPieces(const uint key) {
    uvec2 before = multiply64(key, BIAS_BITS / 8);
    UNROLL for (uint i = 0; i < OWN_ROWS; i++) {
        uvec2 row = add64(biasRow(i), before);
        UNROLL for (uint piece = 0; piece < BIAS_WORDS / PIECE_WORDS; piece++) {
            uvec4 words = PIECE_WORDS == 4   ? BiasPieces(row).at[piece]
                          : PIECE_WORDS == 2 ? BiasPairs(row).at[piece].xyxy
                                             : uvec4(BiasWords(row).at[piece]);
            UNROLL for (uint word = 0; word < PIECE_WORDS; word++) {
                fetched_bias[i * BIAS_WORDS + piece * PIECE_WORDS + word] = words[word];
            }
        }
    }
}

void fetchBiasElements(const uint key) {
    UNROLL for (uint i = 0; i < OWN_ROWS; i++) {
        uvec2 address = biasRow(i);
        BroadcastRow row = BroadcastRow(uvec2(address.x & ~3u, address.y), (address.x & 3u) * 8 / BIAS_BITS);
        UNROLL for (uint word = 0; word < BIAS_WORDS; word++) {
            uint bits = 0;
            UNROLL for (uint shift = 0; shift < 32; shift += BIAS_BITS) { // past the last key the last one's
                uint of_key = min(key + (word * 32 + shift) / BIAS_BITS, item.keys - 1);
                bits |= (broadcastBits(row, of_key, LOG_BIAS_BITS) & 0xffffffffu >> 32 - BIAS_BITS) << shift;
            }
            fetched_bias[i * BIAS_WORDS + word] = bits;
        }
    }
}

// Whole tiles have pieces alone: other ways beside it take their registers. Elsewhere branches stand around whole
// loops, so that all loads are on their way at once.
void fetchBias(const uint key_begin, const bool full) {
    uint key = key_begin + laneKey(lane);
    bool exists = key_begin + TILE_KEYS <= item.keys;
    if (full || (exists && bias_in_pieces)) {
        fetchBiasPieces(key);
    } else if (exists && bias_in_words) {
        uvec2 before = multiply64(key, BIAS_BITS / 8);
        UNROLL for (uint i = 0; i < OWN_ROWS * BIAS_WORDS; i++) {
            fetched_bias[i] = BiasWords(add64(biasRow(i / BIAS_WORDS), before)).at[i % BIAS_WORDS];
        }
    } else {
        fetchBiasElements(key);
    }
}

// Of a row's key, counted from the lane's first.
float fetchedBias(const uint row, const uint key) {
    uint bits = fetched_bias[row * BIAS_WORDS + key * BIAS_BITS / 32];
    if (BIAS == VKF_STORED_F32 + 1) {
        return uintBitsToFloat(bits);
    }
    if (BIAS == VKF_STORED_F16 + 1) {
        return unpackHalf2x16(bits)[key % 2];
    }
    return uintBitsToFloat(key % 2 == 0 ? bits << 16 : bits & 0xffff0000u);
}

#endif
