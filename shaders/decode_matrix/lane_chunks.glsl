// SPDX-License-Identifier: MIT
//
// Loads rows of block types (block_types.glsl) from device memory into registers, for the fp16 matrices of the decode
// kernel.
//
// The codes of a row are assigned in chunks to the lanes that load the row. A chunk is the codes of a block, or a half
// or a quarter of them. Memory is read in units, and a chunk may begin anywhere between them. So a chunk is loaded with
// one unit more than it has. The first unit then has bytes that do not belong to the chunk. The chunk's bytes in the
// last unit take their place. So the chunk is rotated in registers, and columns of k and v are counted in the rotated
// order.
//
// The rotation is at least 2 bytes and at most a unit, so that no load leaves the row. Where the rotation is a whole
// unit, the first unit is not needed.
//
// Chunks of fp8 types are words of 16 or 8 bytes, which are loaded at once, and nothing is rotated.
#ifndef VKF_DECODE_MATRIX_LANE_CHUNKS_GLSL
#define VKF_DECODE_MATRIX_LANE_CHUNKS_GLSL

layout(constant_id = VKF_ID_BLOCK_LOAD_WORDS) const uint BLOCK_LOAD_WORDS = 1;

// How rows of k or v are assigned to lanes.
struct LaneChunks {
    uint type;
    uint block_bytes;
    uint codes_at;         // bytes from the start of the block to its codes
    uint chunks_per_block; // that a block is divided into
    uint words;            // words of 4 bytes of the codes in a chunk
    uint unit;             // words that are loaded at once
    uint header_words;     // loaded beside the codes
};

const bool K_BLOCKS = VKF_IS_BLOCK_TYPE(TYPE_K);
const bool V_BLOCKS = VKF_IS_BLOCK_TYPE(TYPE_V);
const uint K_CHUNKS_PER_BLOCK = VKF_KEY_CHUNKS_PER_BLOCK(HEAD_DIM, DEPTH_LANES, TYPE_K);
const uint V_CHUNKS_PER_BLOCK = VKF_VALUE_CHUNKS_PER_BLOCK(VALUE_DIM, ROW_LANES);
const uint K_LOAD_WORDS = VKF_CHUNK_LOAD_WORDS(TYPE_K, K_CHUNKS_PER_BLOCK, BLOCK_LOAD_WORDS);
const uint V_LOAD_WORDS = VKF_CHUNK_LOAD_WORDS(TYPE_V, V_CHUNKS_PER_BLOCK, BLOCK_LOAD_WORDS);
const uint K_WORDS = VKF_CHUNK_WORDS(TYPE_K, K_CHUNKS_PER_BLOCK);
const uint V_WORDS = VKF_CHUNK_WORDS(TYPE_V, V_CHUNKS_PER_BLOCK);
const uint K_HEADER = VKF_CHUNK_HEADER_WORDS(TYPE_K, K_CHUNKS_PER_BLOCK);
const uint V_HEADER = VKF_CHUNK_HEADER_WORDS(TYPE_V, V_CHUNKS_PER_BLOCK);
const uint K_FETCHED = VKF_FETCHED_WORDS(TYPE_K, K_CHUNKS_PER_BLOCK, BLOCK_LOAD_WORDS);
const uint V_FETCHED = VKF_FETCHED_WORDS(TYPE_V, V_CHUNKS_PER_BLOCK, BLOCK_LOAD_WORDS);
const uint K_CHUNK_EIGHTS = K_WORDS / VKF_EIGHT_WORDS(TYPE_K); // groups of eight elements in a chunk
const uint V_CHUNK_EIGHTS = V_WORDS / VKF_EIGHT_WORDS(TYPE_V);
const uint K_BLOCK_BYTES = VKF_BLOCK_BYTES(TYPE_K);
const uint V_BLOCK_BYTES = VKF_BLOCK_BYTES(TYPE_V);
const uint K_CODES_AT = VKF_BLOCK_CODES_AT(TYPE_K);
const uint V_CODES_AT = VKF_BLOCK_CODES_AT(TYPE_V);
#define K_LANE_CHUNKS LaneChunks(TYPE_K, K_BLOCK_BYTES, K_CODES_AT, K_CHUNKS_PER_BLOCK, K_WORDS, K_LOAD_WORDS, K_HEADER)
#define V_LANE_CHUNKS LaneChunks(TYPE_V, V_BLOCK_BYTES, V_CODES_AT, V_CHUNKS_PER_BLOCK, V_WORDS, V_LOAD_WORDS, V_HEADER)
const uint K_CHUNKS = VKF_LANE_CHUNKS(HEAD_DIM, DEPTH_LANES, K_CHUNKS_PER_BLOCK); // chunks of a lane
const uint V_CHUNKS = VKF_LANE_CHUNKS(VALUE_DIM, ROW_LANES, V_CHUNKS_PER_BLOCK);
const uint V_FETCH_BEGIN = LEFT_FRAGMENT_ROWS * K_CHUNKS * K_FETCHED; // where the fetched words of v begin
const uint FETCHED_END = V_FETCH_BEGIN + VALUE_KEYS * V_CHUNKS * V_FETCHED;
const uint MAX_CODE_WORDS = 10; // the most words that are loaded for the codes of a chunk
// Elements of e4m3 in matrices are 72 times their value.
const float K_UNIT = TYPE_K == VKF_STORED_F8_E4M3 ? 1.0 / 72.0 : 1.0;
const float V_UNIT = TYPE_V == VKF_STORED_F8_E4M3 ? 1.0 / 72.0 : 1.0;

layout(buffer_reference, std430, buffer_reference_align = 8) readonly buffer WordPairs {
    uvec2 pair[];
};

shared uint shared_zero;
uint hidden_zero; // the same, read by each lane (KEEP_IN_REGISTER)
uint fetched_blocks[FETCHED_END + 1];

// The chunk, in its row, of this lane's chunk number `number` of k. valueChunk does the same for v.
uint keyChunk(const uint number) {
    return number * DEPTH_LANES + (lane & COLUMN_LANES);
}

uint valueChunk(const uint number) {
    return number * ROW_LANES + lane / DEPTH_LANES;
}

// Where the words of chunk number `number` of k begin in fetched_blocks. valueFetchBegin does the same for v.
uint keyFetchBegin(const uint fragment_row, const uint number) {
    return (fragment_row * K_CHUNKS + number) * K_FETCHED;
}

uint valueFetchBegin(const uint key, const uint number) {
    return V_FETCH_BEGIN + (key * V_CHUNKS + number) * V_FETCHED;
}

// Where the codes of a chunk begin, in bytes from the start of the row.
uint codesBegin(const uint chunk, const LaneChunks chunks) {
    return chunk / chunks.chunks_per_block * chunks.block_bytes + chunks.codes_at +
           chunk % chunks.chunks_per_block * (chunks.words * 4);
}

// The rotation of a chunk in registers, in bytes.
uint rotationOf(const uint chunk, const LaneChunks chunks) {
    return (codesBegin(chunk, chunks) - 2) % (chunks.unit * 4) + 2;
}

// Whether the chunk's block starts in the middle of a word of 4 bytes.
bool startsBetween(const uint chunk, const LaneChunks chunks) {
    return chunks.block_bytes % 4 != 0 && chunk / chunks.chunks_per_block % 2 != 0;
}

// The unit of a row in which the loads of a chunk begin.
uint firstUnit(const uint chunk, const LaneChunks chunks) {
    return (codesBegin(chunk, chunks) - rotationOf(chunk, chunks)) / (chunks.unit * 4);
}

// Loads a chunk of the row that begins `row` units after the address.
void fetchChunk(const uint index, const uvec2 address, const uint row, const uint chunk, const LaneChunks chunks) {
    if (VKF_IS_FP8(chunks.type)) {
        uvec4 codes =
            chunks.unit == 4 ? Words(address).word[row + chunk] : uvec4(WordPairs(address).pair[row + chunk], 0u, 0u);
        UNROLL for (uint i = 0; i < 4; i++) {
            if (i < chunks.unit) {
                fetched_blocks[index + i] = codes[i];
            }
        }
        return;
    }
    if (chunks.header_words != 0) {
        const uint header = row * chunks.unit + chunk / chunks.chunks_per_block * chunks.block_bytes / 4;
        fetched_blocks[index] = RowWords(address).word[header];
        if (VKF_BLOCK_HAS_FIFTH_BITS(chunks.type)) {
            fetched_blocks[index + 1] = RowWords(address).word[header + 1];
        }
    }
    const uint first = index + chunks.header_words;
    const uint unit = row + firstUnit(chunk, chunks);
    UNROLL for (uint i = 0; i < MAX_CODE_WORDS; i++) {
        if (i >= chunks.words + chunks.unit) {
            continue;
        }
        if (chunks.unit == 1) {
            fetched_blocks[first + i] = RowWords(address).word[unit + i];
        } else if (i % 2 == 0) {
            const uvec2 pair = WordPairs(address).pair[unit + i / 2];
            fetched_blocks[first + i] = pair.x;
            fetched_blocks[first + i + 1] = pair.y;
        }
    }
}

void fetchKeyBlocks(const uint fragment_row, const uvec2 address, const uint row) {
    UNROLL for (uint i = 0; i < K_CHUNKS; i++) {
        fetchChunk(keyFetchBegin(fragment_row, i), address, row, keyChunk(i), K_LANE_CHUNKS);
    }
}

void fetchValueBlocks(const uint key, const uvec2 address, const uint row) {
    UNROLL for (uint i = 0; i < V_CHUNKS; i++) {
        fetchChunk(valueFetchBegin(key, i), address, row, valueChunk(i), V_LANE_CHUNKS);
    }
}

void forgetKeyBlocks() {
    FORGET(fetched_blocks, 0, V_FETCH_BEGIN, 0);
}

void forgetValueBlocks() {
    FORGET(fetched_blocks, V_FETCH_BEGIN, FETCHED_END, 0);
}

// Turns codes of block types in registers (decode_matrix/lane_chunks.glsl) into the words of eight elements that fill
// fp16 matrices.
//
// A code in the low bits of 2^10 is an exact fp16. Its difference to 2^10 plus the code of zero is exact, too. So only
// the element itself is rounded. An element past the largest fp16 becomes infinite. A code of iq4_nl becomes its number
// first, which is exact too.

// Word number `word` of a chunk's codes, as the chunk is rotated. Words of the first unit are joined with the last
// unit.
uint codesOf(const uint index, const uint word, const uint chunk, const LaneChunks chunks) {
    const uint at = index + chunks.header_words + word;
    const uint first = fetched_blocks[at];
    if (word >= chunks.unit || VKF_IS_FP8(chunks.type)) {
        return first;
    }
    const int of_last = int(rotationOf(chunk, chunks)) - int(word * 4); // in bytes
    const uint last_bits = of_last <= 0 ? 0u : of_last == 2 ? 0xffffu : 0xffffffffu;
    return (fetched_blocks[at + chunks.words] & last_bits) | (first & ~last_bits);
}

// The scale of a chunk's block. Its minimum, if it has one, is in the upper half.
uint scaleOf(const uint index, const uint chunk, const LaneChunks chunks) {
    uint word = fetched_blocks[index];
    if (chunks.header_words == 0 && chunks.unit == 2 && rotationOf(chunk, chunks) >= 6) {
        word = fetched_blocks[index + 1];
    }
    return startsBetween(chunk, chunks) ? word >> 16 : word;
}

// The fifth bits of a chunk's codes, in the order of the rotated codes. The upper 16 bits belong to the second half of
// the block.
uint chunkFifthBits(const uint index, const uint chunk, const LaneChunks chunks) {
    if (!VKF_BLOCK_HAS_FIFTH_BITS(chunks.type)) {
        return 0;
    }
    const bool between = chunks.block_bytes % 4 != 0 && !startsBetween(chunk, chunks);
    const uint of_block =
        between ? fetched_blocks[index] >> 16 | fetched_blocks[index + 1] << 16 : fetched_blocks[index + 1];
    const uint bits = of_block >> (chunk % chunks.chunks_per_block * (chunks.words * 4));
    const uint rotation = rotationOf(chunk, chunks);
    const uint rest = chunks.words * 4 - rotation;
    return ((bits & (((1u << rest) - 1) * 0x10001u)) << rotation) |
           ((bits >> rest) & (((1u << rotation) - 1) * 0x10001u));
}

// Two elements, from two bytes that lie 16 bits apart. The codes are the low halves of the bytes, the high halves if
// `high`, or whole bytes of q8_0. `fifth` has the fifth bits of the two codes at bits 4 and 20.
uint elementHalves(const uint bytes, const bool high, const uint fifth, const f16vec2 scale, const f16vec2 minimum,
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

// Two fp8 elements: codes 1 and 3 of a word if `high`, else 0 and 2. Without a comparison, because multiplications take
// half as long as integer arithmetic: 144 times a number of e4m3 is an exact fp16, and 144 times 480, the code of NaN,
// is infinite. So the difference of that and its half is NaN. No other result is below the normal numbers, which
// matrices may take for 0.
uint fp8ChunkHalves(const uint codes, const bool high, const LaneChunks chunks) {
    const uint halves = VKF_FP8_HALVES(codes, high, chunks.type);
    if (chunks.type == VKF_STORED_F8_E5M2) {
        return halves;
    }
    precise f16vec2 x = unpackFloat2x16(halves) * unpackFloat2x16(0x78807880u); // 2^8 times 144
    precise f16vec2 half_of_x = fma(x, unpackFloat2x16(0xb800b800u), x);
    return packFloat2x16(half_of_x);
}

// Two elements of a chunk, number `pair` % 4 of eight elements, in the order of elementColumn.
uint blockHalves(const uint index, const uint chunk, const uint pair, const LaneChunks chunks) {
    if (VKF_IS_FP8(chunks.type)) {
        return fp8ChunkHalves(codesOf(index, pair / 2, chunk, chunks), pair % 2 != 0, chunks);
    }
    const f16vec2 header = unpackFloat2x16(scaleOf(index, chunk, chunks));
    const bool q8_0 = chunks.type == VKF_STORED_Q8_0;
    const uint eight = pair / 4;
    const uint i = pair % 4;
    const bool high = !q8_0 && i % 2 != 0;
    const uint shift = q8_0 ? i % 2 : i / 2;
    const uint codes = codesOf(index, q8_0 ? eight * 2 + i / 2 : eight, chunk, chunks);
    const uint fifth = chunkFifthBits(index, chunk, chunks) >> (eight * 4);
    // The product moves two fifth bits to bits 4 and 20.
    const uint fifths = (((fifth >> (shift + (high ? 16 : 0))) & 5u) * 0x00040010u) & 0x00100010u;
    return elementHalves(codes >> (shift * 8), high, fifths, header.xx, header.yy, chunks);
}

// Eight elements of one of this lane's keys, in the order of keyColumn.
uvec4 keyWord(const uint fragment_row, const uint word) {
    const uint number = word / K_CHUNK_EIGHTS;
    uvec4 elements;
    UNROLL for (uint i = 0; i < 4; i++) {
        elements[i] = blockHalves(keyFetchBegin(fragment_row, number), keyChunk(number), word % K_CHUNK_EIGHTS * 4 + i,
                                  K_LANE_CHUNKS);
    }
    return elements;
}

// Elements 2i and 2i + 1 of a word of one of this lane's keys, in the order of valueColumn. `pair` counts them in all
// words. In a partial tile, infinite elements and NaN become zeros.
uint valueBlockHalves(const uint key, const uint pair, const bool partial) {
    const uint number = pair / (V_CHUNK_EIGHTS * 4);
    uint elements =
        blockHalves(valueFetchBegin(key, number), valueChunk(number), pair % (V_CHUNK_EIGHTS * 4), V_LANE_CHUNKS);
    return partial ? finiteHalves(uvec4(elements)).x : elements;
}

// The column of element 0 to 7 of eight elements of a chunk. Bytes count as the chunk lies in registers, rotated.
uint elementColumn(const uint chunk, const uint eight, const uint element, const LaneChunks chunks) {
    const bool of_bytes = VKF_CODES_ARE_BYTES(chunks.type);
    const uint bytes = chunks.words * 4;
    uint byte = (element & 1) << 1 | (of_bytes ? (element & 4) | (element >> 1 & 1) : element >> 2);
    if (VKF_IS_FP8(chunks.type)) {
        return chunk * bytes + eight * 8 + byte;
    }
    uint in_chunk = (eight * (of_bytes ? 8 : 4) + byte + bytes - rotationOf(chunk, chunks)) % bytes;
    uint half_block = !of_bytes && (element & 2) != 0 ? 16 : 0;
    return chunk / chunks.chunks_per_block * VKF_BLOCK_ELEMENTS + chunk % chunks.chunks_per_block * bytes + in_chunk +
           half_block;
}

// The column of element 0 to 7 of a word of this lane's share of k.
uint keyColumn(const uint word, const uint element) {
    return elementColumn(keyChunk(word / K_CHUNK_EIGHTS), word % K_CHUNK_EIGHTS, element, K_LANE_CHUNKS);
}

// The column of element 0 to 7 of a word of this lane's share of v.
uint valueColumn(const uint word, const uint element) {
    return elementColumn(valueChunk(word / V_CHUNK_EIGHTS), word % V_CHUNK_EIGHTS, element, V_LANE_CHUNKS);
}

#endif
