// SPDX-License-Identifier: MIT
//
// Turns codes of block types in registers (decode_blocks.glsl) into the words of eight elements that fill fp16
// matrices.
//
// A code in the low bits of 2^10 is an exact fp16. Its difference to 2^10 plus the code of zero is exact, too. So only
// the element itself is rounded. An element past the largest fp16 becomes infinite. A code of iq4_nl becomes its number
// first, which is exact too.
//
// Needs: decode/decode_blocks.glsl, cache/block_types.glsl, matrix/special_values.glsl (finiteHalves).
// Provides: keyWord, makeValues, valueOfBlocks.
#ifndef VKF_DECODE_BLOCK_CODES_GLSL
#define VKF_DECODE_BLOCK_CODES_GLSL

// Word number `word` of a chunk's codes, as the chunk is rotated. Words of the first unit are joined with the last
// unit.
uint codesOf(const uint place, const uint word, const uint chunk, const Dealt dealt) {
    const uint at = place + VKF_HEADER_WORDS(dealt.type) + word;
    const uint first = fetched_blocks[at];
    if (word >= dealt.unit) {
        return first;
    }
    const int of_last = int(rotationOf(chunk, dealt)) - int(word * 4); // in bytes
    const uint last_bits = of_last <= 0 ? 0u : of_last == 2 ? 0xffffu : 0xffffffffu;
    return (fetched_blocks[at + dealt.words] & last_bits) | (first & ~last_bits);
}

// The scale of a chunk's block. Its minimum, if it has one, is in the upper half.
uint scaleOf(const uint place, const uint chunk, const Dealt dealt) {
    return startsBetween(chunk, dealt) ? fetched_blocks[place] >> 16 : fetched_blocks[place];
}

// The fifth bits of a chunk's codes, in the order of the rotated codes. The upper 16 bits belong to the second half of
// the block.
uint chunkFifthBits(const uint place, const uint chunk, const Dealt dealt) {
    if (!VKF_BLOCK_HAS_FIFTH_BITS(dealt.type)) {
        return 0;
    }
    const bool between = dealt.block_bytes % 4 != 0 && !startsBetween(chunk, dealt);
    const uint of_block =
        between ? fetched_blocks[place] >> 16 | fetched_blocks[place + 1] << 16 : fetched_blocks[place + 1];
    const uint bits = of_block >> chunk % dealt.shares * (dealt.words * 4);
    const uint rotation = rotationOf(chunk, dealt);
    const uint rest = dealt.words * 4 - rotation;
    return (bits & ((1u << rest) - 1) * 0x10001u) << rotation | (bits >> rest & ((1u << rotation) - 1) * 0x10001u);
}

// A number that the compiler keeps in a register.
uint inRegister(const uint number) {
    return KEEP_IN_REGISTER(number);
}

// Two elements, from two bytes that lie 16 bits apart. The codes are the low halves of the bytes, the high halves if
// `high`, or whole bytes of q8_0. `fifth` has the fifth bits of the two codes at bits 4 and 20.
uint elementPair(const uint bytes, const bool high, const uint fifth, const f16vec2 scale, const f16vec2 minimum,
                 const Dealt dealt) {
    const bool q8_0 = dealt.type == VKF_STORED_Q8_0;
    const uint mask = inRegister(q8_0 ? 0x00ff00ffu : high ? 0x00f000f0u : 0x000f000fu);
    const uint codes = (bytes & mask) ^ inRegister(q8_0 ? 0x64806480u : 0x64006400u);
    const uint bits = VKF_BLOCK_HAS_FIFTH_BITS(dealt.type) ? codes | (high ? fifth << 4 : fifth) : codes;
    f16vec2 x = fma(unpackFloat2x16(bits), f16vec2(high ? 0.0625 : 1.0),
                    f16vec2((high ? -64.0 : -1024.0) - VKF_CODE_OFFSET(dealt.type)));
    if (dealt.type == VKF_STORED_IQ4_NL) {
        precise f16vec2 number = VKF_HALF_NUMBERS_OF(x);
        x = number;
    }
    return packFloat2x16(VKF_BLOCK_HAS_MINIMUM(dealt.type) ? fma(x, scale, minimum) : x * scale);
}

// Eight elements of one of this lane's keys, in the order of keyColumn.
uvec4 keyWord(const uint slot, const uint word) {
    const uint chunk = keyChunk(word / K_EIGHTS);
    const uint place = keyPlace(slot, word / K_EIGHTS);
    const uint in_chunk = word % K_EIGHTS;
    const f16vec2 header = unpackFloat2x16(scaleOf(place, chunk, K_DEALT));
    const bool q8_0 = TYPE_K == VKF_STORED_Q8_0;
    const uint fifth = chunkFifthBits(place, chunk, K_DEALT) >> in_chunk * 4;
    uvec4 elements;
    UNROLL for (uint i = 0; i < 4; i++) {
        const bool high = !q8_0 && i % 2 != 0;
        const uint shift = q8_0 ? i % 2 : i / 2;
        const uint codes = codesOf(place, q8_0 ? in_chunk * 2 + i / 2 : in_chunk, chunk, K_DEALT);
        // The product moves two fifth bits to bits 4 and 20.
        const uint fifths = (fifth >> shift + (high ? 16 : 0) & 5u) * 0x00040010u & 0x00100010u;
        elements[i] = elementPair(codes >> shift * 8, high, fifths, header.xx, header.yy, K_DEALT);
    }
    return elements;
}

// The low halves of two words, joined, and their high halves, joined.
uvec2 joinedHalves(const uint a, const uint b) {
    return uvec2((a & 0xffffu) | b << 16, a >> 16 | (b & 0xffff0000u));
}

// Sets value_pairs for eight columns of two of this lane's keys, in the order of valueColumn. If a lane has one key,
// both keys are that key.
void makeValuePairs(const uint pair, const uint word) {
    const uint number = word / V_EIGHTS;
    const uint in_chunk = word % V_EIGHTS;
    const uint chunk = number * ROW_LANES + lane / DEPTH_LANES;
    const uint a = valuePlace(pair * 2, number);
    const uint b = valuePlace(pair * 2 + 1, number);
    const uvec2 header = joinedHalves(scaleOf(a, chunk, V_DEALT), scaleOf(b, chunk, V_DEALT));
    const uvec2 fifth = joinedHalves(chunkFifthBits(a, chunk, V_DEALT), chunkFifthBits(b, chunk, V_DEALT));
    const bool q8_0 = TYPE_V == VKF_STORED_Q8_0;
    UNROLL for (uint i = 0; i < 8; i++) {
        const bool high = !q8_0 && (i & 2) != 0;
        const uint byte = q8_0 ? in_chunk * 8 + i : in_chunk * 4 + i / 4 * 2 + i % 2;
        const uvec2 codes =
            joinedHalves(codesOf(a, byte / 4, chunk, V_DEALT), codesOf(b, byte / 4, chunk, V_DEALT));
        const uint fifths = ((high ? fifth.y : fifth.x) >> byte & 0x00010001u) << 4;
        value_pairs[pair * 8 + i] = elementPair((byte % 4 < 2 ? codes.x : codes.y) >> byte % 2 * 8, high, fifths,
                                                unpackFloat2x16(header.x), unpackFloat2x16(header.y), V_DEALT);
    }
}

// Sets value_pairs for eight columns of all keys of this lane. In a partial tile infinite values and NaN become zeros.
void makeValues(const uint word, const bool partial) {
    UNROLL for (uint pair = 0; pair < KEY_PAIRS; pair++) {
        makeValuePairs(pair, word);
    }
    if (partial) {
        UNROLL for (uint i = 0; i < KEY_PAIRS * 8; i++) {
            value_pairs[i] = finiteHalves(uvec4(value_pairs[i])).x;
        }
    }
}

Half valueOfBlocks(const uint key, const uint column) {
    const f16vec2 pair = unpackFloat2x16(value_pairs[key / 2 * 8 + column]);
    return key % 2 == 0 ? pair.x : pair.y;
}

#endif
