// SPDX-License-Identifier: MIT
//
// What is cleared and fetched before line 8 of the algorithm (attention_coopmat.comp): o, m and l before the first
// tile, s and the bias before each tile.
//
// The additive bias of the cooperative-matrix kernel. The keys of an invocation are consecutive
// (matrix/matrix_tile.glsl), so it needs LANE_KEYS consecutive elements of each bias row. It loads them in the largest
// of these units that the rows in memory allow:
//   - pieces of up to 16 bytes,
//   - words of 4 bytes,
//   - single elements.
//
// The bias of the next tile is on its way while line 10 uses this tile.
#ifndef VKF_COOPMAT_BEGIN_GLSL
#define VKF_COOPMAT_BEGIN_GLSL

// Line 5.
void clearState() {
    UNROLL for (uint i = 0; i < ROW_TILES * VALUE_TILES; i++) {
        o_tile[i] = ResultMatrix(0.0);
    }
    UNROLL for (uint i = 0; i < ROW_TILES * FRAGMENT_ROWS; i++) {
        m_row[i] = BEFORE_ANY_KEY;
        l_row[i] = 0.0;
    }
}

// Whether full or partial tiles look at the bias.
#define NEEDS_BIAS(full) (HAS_BIAS && !(BIAS_IS_MASK && (full)))

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

// The factor of an element of the bias: the bias factor of the head of the invocation's row `row`. For a bias of
// -infinity the factor is 1, so that no bias factor makes the key visible.
#define BIAS_FACTOR(bias, row) ((bias) == MINUS_INFINITY ? 1.0 : factor_row[PACKED_HEADS == 1 ? 0 : (row)])

// Sets factor_row, for the invocation's rows.
void setBiasFactors() {
    uvec2 place = lanePlace(lane);
    UNROLL for (uint i = 0; i < (ADDS_BIAS && HAS_BIAS_FACTORS ? SLOPES : 0); i++) {
        factor_row[i] = biasFactorOf(queryHead(item, first_row + place.x + laneRow(i)));
    }
}

void beginBias(const uint thread) {
    if (!HAS_BIAS) {
        return;
    }
    CallTable table = CallTableAt(optionalInputs()).table;
    uint bits = table.bias_stride[0].x | table.bias_stride[1].x | table.bias_stride[2].x | table.bias.x << 3;
    bias_in_words = BIAS_IN_WORDS && (bits & 31u) == 0;
    bias_in_pieces = BIAS_IN_WORDS && (bits & PIECE_WORDS * 32 - 1) == 0;
    for (uint i = thread; i < TILE_ROWS; i += WORKGROUP_SIZE) {
        uint packed_row = min(item.row_begin + i, packedRows(item) - 1);
        BroadcastRow row = broadcastRow(table.bias, table.bias_stride, table.bias_repeats, item.batch,
                                        queryHead(item, packed_row), queryRow(packed_row), LOG_BIAS_BITS);
        bias_rows[i] = add64(row.address, uvec2(row.first * (BIAS_BITS / 8), 0));
    }
}

// Address of key 0 in the bias row of the invocation's row i.
uvec2 biasRow(const uint i) {
    return bias_rows[subgroup * SUBGROUP_STEP + lanePlace(lane).x + laneRow(i)];
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
            UNROLL for (uint shift = 0; shift < 32; shift += BIAS_BITS) { // keys past the last one get its bias
                uint of_key = min(key + (word * 32 + shift) / BIAS_BITS, item.keys - 1);
                bits |= (broadcastBits(row, of_key, LOG_BIAS_BITS) & 0xffffffffu >> 32 - BIAS_BITS) << shift;
            }
            fetched_bias[i * BIAS_WORDS + word] = bits;
        }
    }
}

// Full tiles are read only in pieces (tile_walk.glsl). Code for the other two ways would take registers here
// (docs/tuning.md, "What costs registers or moves"). For partial tiles each branch encloses a complete loop, so that
// all its loads are in flight at once.
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

// The bias of a row and a key; `key` counts from the lane's first key.
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

void beginScores() {
    UNROLL for (uint i = 0; i < ROW_TILES * KEY_TILES; i++) {
        s_tile[i] = ResultMatrix(0.0);
    }
}

#endif
