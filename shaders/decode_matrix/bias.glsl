// SPDX-License-Identifier: MIT
//
// The bias of the subgroup's keys, for line 8 of the algorithm (attention_decode_matrix.comp). Its words are in flight
// to registers while the tile before is used, like those of k and v. So a call takes no more time than without a bias.
#ifndef VKF_DECODE_MATRIX_BIAS_GLSL
#define VKF_DECODE_MATRIX_BIAS_GLSL

const uint BIAS_ROWS = HAS_BIAS ? LANE_ROWS : 0;

BroadcastRow bias_row[HAS_BIAS ? LANE_ROWS : 1];
uint fetched_bias[HAS_BIAS ? LANE_ROWS * LEFT_FRAGMENT_ROWS : 1]; // words of 4 bytes, with one or two elements

void beginBias() {
    UNROLL for (uint lane_row = 0; lane_row < BIAS_ROWS; lane_row++) {
        uint packed_row = first_row + subgroupRow(lane_row);
        bias_row[lane_row] = rowTerms(item, queryHead(item, packed_row), 0.0, queryRow(packed_row), 0).bias;
    }
}

// The element of a key, counted from the word in which the row begins. A key past the last one has the bias of the last
// key.
uint biasElement(const uint lane_row, const uint key) {
    return bias_row[lane_row].first + min(key, item.keys - 1);
}

void fetchBias(const uint key_begin) {
    UNROLL for (uint i = 0; i < BIAS_ROWS * LEFT_FRAGMENT_ROWS; i++) {
        const uint lane_row = i / LEFT_FRAGMENT_ROWS;
        uint element = biasElement(lane_row, scoreKey(key_begin, i % LEFT_FRAGMENT_ROWS));
        uint offset = (element >> (5 - LOG_BIAS_BITS)) << 2;
        fetched_bias[i] = Word(add64(bias_row[lane_row].address, uvec2(offset, 0))).value;
    }
}

// The bias of the lane's key number `fragment_row`, in a tile that begins at key_begin and was fetched last.
float fetchedBias(const uint lane_row, const uint fragment_row, const uint key_begin) {
    uint element = biasElement(lane_row, scoreKey(key_begin, fragment_row));
    uint bits = fetched_bias[lane_row * LEFT_FRAGMENT_ROWS + fragment_row] >> ((element << LOG_BIAS_BITS) & 31u);
    if (BIAS == VKF_STORED_F32 + 1) {
        return uintBitsToFloat(bits);
    }
    return BIAS == VKF_STORED_F16 + 1 ? unpackHalf2x16(bits).x : uintBitsToFloat(bits << 16);
}

// A score with the bias, as in withTerms (scores/score_terms.glsl).
float withFetchedBias(const float s, const float bias, const float factor) {
    precise float product = bias * (bias == MINUS_INFINITY ? 1.0 : factor);
    return s + (HAS_BIAS_FACTORS ? product : bias);
}

#endif
