// SPDX-License-Identifier: MIT
//
// Rows of block types (block_types.glsl) on their way to fp16 matrices of the decode kernel: from device memory to
// registers, and from there to the words of eight elements that matrices are filled from.
//
// The codes of a row are dealt to the lanes that load it in chunks, a block's or a half or a quarter of them. A chunk
// may begin anywhere between the units in which memory is read. It is loaded with one unit more than it has, and the
// bytes of the last unit that belong to it take the place of those of the first that do not: it stays in registers
// rotated, and depths of k and columns of v are counted so. The rotation is 2 bytes at least, so that what is loaded
// never begins before the row; where it is a whole unit, the first one is not needed.
//
// A code in the low bits of 2^10 is an fp16, exactly, and so is its difference to 2^10 and the code of zero; the one
// rounding left is that of the element, which is infinite past the largest fp16.
#ifndef VKF_DECODE_BLOCKS_GLSL
#define VKF_DECODE_BLOCKS_GLSL

layout(constant_id = VKF_ID_BLOCK_UNIT) const uint BLOCK_UNIT = 1;

// How the rows of k or v are dealt.
struct Dealt {
    uint type;
    uint block_bytes;
    uint codes_at; // in bytes from the block
    uint shares;   // chunks of a block
    uint words;    // of codes in a chunk
    uint unit;     // words that are loaded at once
};

const bool K_BLOCKS = VKF_IS_BLOCK_TYPE(TYPE_K);
const bool V_BLOCKS = VKF_IS_BLOCK_TYPE(TYPE_V);
const uint K_SHARES = VKF_KEY_SHARES(HEAD_DIM, DEPTH_LANES);
const uint V_SHARES = VKF_VALUE_SHARES(VALUE_DIM, ROW_LANES);
const uint K_UNIT = VKF_CHUNK_UNIT(TYPE_K, K_SHARES, BLOCK_UNIT);
const uint V_UNIT = VKF_CHUNK_UNIT(TYPE_V, V_SHARES, BLOCK_UNIT);
const uint K_WORDS = VKF_CHUNK_WORDS(TYPE_K, K_SHARES);
const uint V_WORDS = VKF_CHUNK_WORDS(TYPE_V, V_SHARES);
const uint K_FETCHED = VKF_HEADER_WORDS(TYPE_K) + K_WORDS + K_UNIT;
const uint V_FETCHED = VKF_HEADER_WORDS(TYPE_V) + V_WORDS + V_UNIT;
const uint K_EIGHTS = K_WORDS / VKF_EIGHT_WORDS(TYPE_K); // of elements in a chunk
const uint V_EIGHTS = V_WORDS / VKF_EIGHT_WORDS(TYPE_V);
const uint K_BLOCK_BYTES = VKF_BLOCK_BYTES(TYPE_K);
const uint V_BLOCK_BYTES = VKF_BLOCK_BYTES(TYPE_V);
const uint K_CODES_AT = VKF_BLOCK_CODES_AT(TYPE_K);
const uint V_CODES_AT = VKF_BLOCK_CODES_AT(TYPE_V);
#define K_DEALT Dealt(TYPE_K, K_BLOCK_BYTES, K_CODES_AT, K_SHARES, K_WORDS, K_UNIT)
#define V_DEALT Dealt(TYPE_V, V_BLOCK_BYTES, V_CODES_AT, V_SHARES, V_WORDS, V_UNIT)
const uint K_CHUNKS = VKF_LANE_CHUNKS(HEAD_DIM, DEPTH_LANES, K_SHARES); // of a lane
const uint V_CHUNKS = VKF_LANE_CHUNKS(VALUE_DIM, ROW_LANES, V_SHARES);
const uint V_PLACE = LEFT_SLOTS * K_CHUNKS * K_FETCHED; // of what is fetched of v
const uint FETCHED_END = V_PLACE + SLOT_ELEMENTS * V_CHUNKS * V_FETCHED;
const uint MOST_CODE_WORDS = 10; // of a chunk, as it is loaded
const uint KEY_PAIRS = (SLOT_ELEMENTS + 1) / 2;

layout(buffer_reference, std430, buffer_reference_align = 8) readonly buffer WordPairs {
    uvec2 pair[];
};

uint fetched_blocks[FETCHED_END + 1];
uint value_pairs[KEY_PAIRS * 8]; // eight columns, each of two keys

uint keyChunk(const uint number) {
    return number * DEPTH_LANES + (lane & COLUMN_LANES);
}

uint keyPlace(const uint slot, const uint number) {
    return (slot * K_CHUNKS + number) * K_FETCHED;
}

uint valuePlace(const uint key, const uint number) {
    return V_PLACE + (min(key, SLOT_ELEMENTS - 1) * V_CHUNKS + number) * V_FETCHED;
}

// In bytes from the row.
uint codesBegin(const uint chunk, const Dealt dealt) {
    return chunk / dealt.shares * dealt.block_bytes + dealt.codes_at +
           chunk % dealt.shares * (dealt.words * 4);
}

// In bytes.
uint rotationOf(const uint chunk, const Dealt dealt) {
    return (codesBegin(chunk, dealt) - 2) % (dealt.unit * 4) + 2;
}

// Whether a block starts in the middle of a word of four bytes.
bool startsBetween(const uint chunk, const Dealt dealt) {
    return dealt.block_bytes % 4 != 0 && chunk / dealt.shares % 2 != 0;
}

void fetchChunk(const uint place, const uvec2 row, const uint chunk, const Dealt dealt) {
    RowWords header = RowWords(add64(row, uvec2(chunk / dealt.shares * dealt.block_bytes & ~3u, 0)));
    fetched_blocks[place] = header.word[0];
    if (VKF_BLOCK_HAS_FIFTH_BITS(dealt.type)) {
        fetched_blocks[place + 1] = header.word[1];
    }
    const uint first = place + VKF_HEADER_WORDS(dealt.type);
    const uvec2 codes = add64(row, uvec2(codesBegin(chunk, dealt) - rotationOf(chunk, dealt), 0));
    UNROLL for (uint i = 0; i < MOST_CODE_WORDS; i++) {
        if (i >= dealt.words + dealt.unit) {
            continue;
        }
        if (dealt.unit == 1) {
            fetched_blocks[first + i] = RowWords(codes).word[i];
        } else if (i % 2 == 0) {
            const uvec2 pair = WordPairs(codes).pair[i / 2];
            fetched_blocks[first + i] = pair.x;
            fetched_blocks[first + i + 1] = pair.y;
        }
    }
}

void fetchKeyBlocks(const uint slot, const uvec2 row) {
    UNROLL for (uint i = 0; i < K_CHUNKS; i++) {
        fetchChunk(keyPlace(slot, i), row, keyChunk(i), K_DEALT);
    }
}

void fetchValueBlocks(const uint key, const uvec2 row) {
    UNROLL for (uint i = 0; i < V_CHUNKS; i++) {
        fetchChunk(valuePlace(key, i), row, i * ROW_LANES + lane / DEPTH_LANES, V_DEALT);
    }
}

void forgetKeyBlocks() {
    FORGET(fetched_blocks, 0, V_PLACE, 0)
}

void forgetValueBlocks() {
    FORGET(fetched_blocks, V_PLACE, FETCHED_END, 0)
}

// A word of a chunk's codes.
uint codesOf(const uint place, const uint word, const uint chunk, const Dealt dealt) {
    const uint at = place + VKF_HEADER_WORDS(dealt.type) + word;
    const uint first = fetched_blocks[at];
    if (word >= dealt.unit) {
        return first;
    }
    const int of_last = int(rotationOf(chunk, dealt)) - int(word * 4); // bytes
    const uint last_bits = of_last <= 0 ? 0u : of_last == 2 ? 0xffffu : 0xffffffffu;
    return (fetched_blocks[at + dealt.words] & last_bits) | (first & ~last_bits);
}

// Scale, and minimum in the upper half.
uint scaleOf(const uint place, const uint chunk, const Dealt dealt) {
    return startsBetween(chunk, dealt) ? fetched_blocks[place] >> 16 : fetched_blocks[place];
}

// The fifth bits of a chunk's codes in their order, those of the second half of the block in the upper 16 bits.
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

uint inRegister(const uint number) {
    return KEEP_IN_REGISTER(number);
}

// Two elements, from bytes 16 bits apart: the low halves of the bytes, or the high ones, or all of q8_0. `fifth` has
// the bits above them at 4 and 20.
uint elementPair(const uint bytes, const bool high, const uint fifth, const f16vec2 scale, const f16vec2 minimum,
                 const Dealt dealt) {
    const bool q8_0 = dealt.type == VKF_STORED_Q8_0;
    const uint mask = inRegister(q8_0 ? 0x00ff00ffu : high ? 0x00f000f0u : 0x000f000fu);
    const uint codes = (bytes & mask) ^ inRegister(q8_0 ? 0x64806480u : 0x64006400u);
    const uint bits = VKF_BLOCK_HAS_FIFTH_BITS(dealt.type) ? codes | (high ? fifth << 4 : fifth) : codes;
    const f16vec2 x = fma(unpackFloat2x16(bits), f16vec2(high ? 0.0625 : 1.0),
                          f16vec2((high ? -64.0 : -1024.0) - VKF_CODE_OFFSET(dealt.type)));
    return packFloat2x16(VKF_BLOCK_HAS_MINIMUM(dealt.type) ? fma(x, scale, minimum) : x * scale);
}

// Eight elements of one of this lane's keys, in the order that keyColumn tells.
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
        // A product that brings two of four bits to their places.
        const uint fifths = (fifth >> shift + (high ? 16 : 0) & 5u) * 0x00040010u & 0x00100010u;
        elements[i] = elementPair(codes >> shift * 8, high, fifths, header.xx, header.yy, K_DEALT);
    }
    return elements;
}

// Low and high halves of two words.
uvec2 joinedHalves(const uint a, const uint b) {
    return uvec2((a & 0xffffu) | b << 16, a >> 16 | (b & 0xffff0000u));
}

// Eight columns of two of this lane's keys, in the order that valueColumn tells. Where a lane has one key, it is both.
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

// The values of eight columns. Of keys that not every row sees, those that are no finite numbers are zeros.
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

// Column of a row that a byte of a chunk, as it stands in registers, has a code of.
uint columnOf(const uint chunk, const uint byte, const bool high, const Dealt dealt) {
    const uint bytes = dealt.words * 4;
    const uint in_chunk = (byte + bytes - rotationOf(chunk, dealt)) % bytes;
    return chunk / dealt.shares * VKF_BLOCK_ELEMENTS + chunk % dealt.shares * bytes + in_chunk + (high ? 16 : 0);
}

// Of element 0 to 7 of a word of this lane's part of k.
uint keyColumn(const uint word, const uint element) {
    const bool q8_0 = TYPE_K == VKF_STORED_Q8_0;
    const uint byte = (element & 1) << 1 | (q8_0 ? (element & 4) | (element >> 1 & 1) : element >> 2);
    return columnOf(keyChunk(word / K_EIGHTS), word % K_EIGHTS * (q8_0 ? 8 : 4) + byte,
                    !q8_0 && (element & 2) != 0, K_DEALT);
}

// The same of v, of the part that lane `part` of those that share a row has. Elements 2i and 2i + 1 are neighbours.
uint valueColumn(const uint part, const uint word, const uint element) {
    const bool q8_0 = TYPE_V == VKF_STORED_Q8_0;
    const uint byte = q8_0 ? element : (element & 1) | element >> 2 << 1;
    return columnOf(word / V_EIGHTS * ROW_LANES + part, word % V_EIGHTS * (q8_0 ? 8 : 4) + byte,
                    !q8_0 && (element & 2) != 0, V_DEALT);
}

#endif
