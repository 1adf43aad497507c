// SPDX-License-Identifier: MIT
//
// Turns codes of block types in registers (decode_matrix/lane_chunks.glsl) into the words of eight elements that fill fp16
// matrices.
//
// A code in the low bits of 2^10 is an exact fp16. Its difference to 2^10 plus the code of zero is exact, too. So only
// the element itself is rounded. An element past the largest fp16 becomes infinite. A code of iq4_nl becomes its number
// first, which is exact too.
//
// Needs: decode_matrix/lane_chunks.glsl, cache/block_types.glsl, matrix/special_values.glsl (finiteHalves).
// Provides: keyWord, valueBlockPair.
#ifndef VKF_DECODE_MATRIX_CHUNK_CODES_GLSL
#define VKF_DECODE_MATRIX_CHUNK_CODES_GLSL

// Word number `word` of a chunk's codes, as the chunk is rotated. Words of the first unit are joined with the last
// unit.
uint codesOf(const uint place, const uint word, const uint chunk, const LaneChunks chunks) {
    const uint at = place + chunks.header_words + word;
    const uint first = fetched_blocks[at];
    if (word >= chunks.unit) {
        return first;
    }
    const int of_last = int(rotationOf(chunk, chunks)) - int(word * 4); // in bytes
    const uint last_bits = of_last <= 0 ? 0u : of_last == 2 ? 0xffffu : 0xffffffffu;
    return (fetched_blocks[at + chunks.words] & last_bits) | (first & ~last_bits);
}

// The scale of a chunk's block. Its minimum, if it has one, is in the upper half.
uint scaleOf(const uint place, const uint chunk, const LaneChunks chunks) {
    uint word = fetched_blocks[place];
    if (chunks.header_words == 0 && chunks.unit == 2 && rotationOf(chunk, chunks) >= 6) {
        word = fetched_blocks[place + 1];
    }
    return startsBetween(chunk, chunks) ? word >> 16 : word;
}

// The fifth bits of a chunk's codes, in the order of the rotated codes. The upper 16 bits belong to the second half of
// the block.
uint chunkFifthBits(const uint place, const uint chunk, const LaneChunks chunks) {
    if (!VKF_BLOCK_HAS_FIFTH_BITS(chunks.type)) {
        return 0;
    }
    const bool between = chunks.block_bytes % 4 != 0 && !startsBetween(chunk, chunks);
    const uint of_block =
        between ? fetched_blocks[place] >> 16 | fetched_blocks[place + 1] << 16 : fetched_blocks[place + 1];
    const uint bits = of_block >> chunk % chunks.shares * (chunks.words * 4);
    const uint rotation = rotationOf(chunk, chunks);
    const uint rest = chunks.words * 4 - rotation;
    return (bits & ((1u << rest) - 1) * 0x10001u) << rotation | (bits >> rest & ((1u << rotation) - 1) * 0x10001u);
}

// Two elements, from two bytes that lie 16 bits apart. The codes are the low halves of the bytes, the high halves if
// `high`, or whole bytes of q8_0. `fifth` has the fifth bits of the two codes at bits 4 and 20.
uint elementPair(const uint bytes, const bool high, const uint fifth, const f16vec2 scale, const f16vec2 minimum,
                 const LaneChunks chunks) {
    const bool q8_0 = chunks.type == VKF_STORED_Q8_0;
    const uint mask = KEEP_IN_REGISTER(q8_0 ? 0x00ff00ffu : high ? 0x00f000f0u : 0x000f000fu, hidden_zero);
    const uint codes = (bytes & mask) ^ (q8_0 ? 0x64806480u : 0x64006400u);
    const uint bits = VKF_BLOCK_HAS_FIFTH_BITS(chunks.type) ? codes | (high ? fifth << 4 : fifth) : codes;
    f16vec2 x = fma(unpackFloat2x16(bits), f16vec2(high ? 0.0625 : 1.0),
                    f16vec2((high ? -64.0 : -1024.0) - VKF_CODE_OFFSET(chunks.type)));
    if (chunks.type == VKF_STORED_IQ4_NL) {
        precise f16vec2 number = VKF_HALF_NUMBERS_OF(x);
        x = number;
    }
    return packFloat2x16(VKF_BLOCK_HAS_MINIMUM(chunks.type) ? fma(x, scale, minimum) : x * scale);
}

// Two elements of a chunk, number `pair` % 4 of eight elements, in the order of elementColumn.
uint blockPair(const uint place, const uint chunk, const uint pair, const LaneChunks chunks) {
    const f16vec2 header = unpackFloat2x16(scaleOf(place, chunk, chunks));
    const bool q8_0 = chunks.type == VKF_STORED_Q8_0;
    const uint eight = pair / 4;
    const uint i = pair % 4;
    const bool high = !q8_0 && i % 2 != 0;
    const uint shift = q8_0 ? i % 2 : i / 2;
    const uint codes = codesOf(place, q8_0 ? eight * 2 + i / 2 : eight, chunk, chunks);
    const uint fifth = chunkFifthBits(place, chunk, chunks) >> eight * 4;
    // The product moves two fifth bits to bits 4 and 20.
    const uint fifths = (fifth >> shift + (high ? 16 : 0) & 5u) * 0x00040010u & 0x00100010u;
    return elementPair(codes >> shift * 8, high, fifths, header.xx, header.yy, chunks);
}

// Eight elements of one of this lane's keys, in the order of keyColumn.
uvec4 keyWord(const uint fragment_row, const uint word) {
    const uint number = word / K_EIGHTS;
    uvec4 elements;
    UNROLL for (uint i = 0; i < 4; i++) {
        elements[i] = blockPair(keyPlace(fragment_row, number), keyChunk(number), word % K_EIGHTS * 4 + i, K_LANE_CHUNKS);
    }
    return elements;
}

// Elements 2i and 2i + 1 of a word of one of this lane's keys, in the order of valueColumn. `pair` counts them in all
// words. In a partial tile, infinite elements and NaN become zeros.
uint valueBlockPair(const uint key, const uint pair, const bool partial) {
    const uint number = pair / (V_EIGHTS * 4);
    uint elements = blockPair(valuePlace(key, number), valueChunk(number), pair % (V_EIGHTS * 4), V_LANE_CHUNKS);
    return partial ? finiteHalves(uvec4(elements)).x : elements;
}

#endif
