// SPDX-License-Identifier: MIT
//
// Loads rows of block types (block_types.glsl) from device memory into registers, for the fp16 matrices of the decode
// kernel.
//
// The codes of a row are assigned in chunks to the lanes that load the row. A chunk is the codes of a block, or a half
// or a quarter of them. Memory is read in units, and a chunk may begin anywhere between them. So a chunk is loaded with
// one unit more than it has. The first unit then has bytes that do not belong to the chunk. The chunk's bytes in the
// last unit take their place. So the chunk is rotated in registers, and depths of k and columns of v are counted in the
// rotated order.
//
// The rotation is at least 2 bytes and at most a unit, so that no load leaves the row. Where the rotation is a whole
// unit, the first unit is not needed.
//
// Needs: decode_matrix/globals.glsl (lane), decode_matrix/tile.glsl, cache/block_types.glsl,
// common/address64.glsl.
// Provides: K_BLOCKS, V_BLOCKS, LaneChunks, fetchKeyBlocks, fetchValueBlocks, forgetKeyBlocks, forgetValueBlocks; the
// fetched words, and places and rotations of chunks, for decode_matrix/chunk_codes.glsl and decode_matrix/chunk_columns.glsl.
#ifndef VKF_DECODE_MATRIX_LANE_CHUNKS_GLSL
#define VKF_DECODE_MATRIX_LANE_CHUNKS_GLSL

layout(constant_id = VKF_ID_BLOCK_UNIT) const uint BLOCK_UNIT = 1;

// How rows of k or v are assigned to lanes.
struct LaneChunks {
    uint type;
    uint block_bytes;
    uint codes_at; // bytes from the start of the block to its codes
    uint shares;   // chunks of a block
    uint words;    // words of 4 bytes of the codes in a chunk
    uint unit;     // words that are loaded at once
    uint header_words; // loaded beside the codes
};

const bool K_BLOCKS = VKF_IS_BLOCK_TYPE(TYPE_K);
const bool V_BLOCKS = VKF_IS_BLOCK_TYPE(TYPE_V);
const uint K_SHARES = VKF_KEY_SHARES(HEAD_DIM, DEPTH_LANES);
const uint V_SHARES = VKF_VALUE_SHARES(VALUE_DIM, ROW_LANES);
const uint K_UNIT = VKF_CHUNK_UNIT(TYPE_K, K_SHARES, BLOCK_UNIT);
const uint V_UNIT = VKF_CHUNK_UNIT(TYPE_V, V_SHARES, BLOCK_UNIT);
const uint K_WORDS = VKF_CHUNK_WORDS(TYPE_K, K_SHARES);
const uint V_WORDS = VKF_CHUNK_WORDS(TYPE_V, V_SHARES);
const uint K_HEADER = VKF_CHUNK_HEADER_WORDS(TYPE_K, K_SHARES);
const uint V_HEADER = VKF_CHUNK_HEADER_WORDS(TYPE_V, V_SHARES);
const uint K_FETCHED = K_HEADER + K_WORDS + K_UNIT;
const uint V_FETCHED = V_HEADER + V_WORDS + V_UNIT;
const uint K_EIGHTS = K_WORDS / VKF_EIGHT_WORDS(TYPE_K); // groups of eight elements in a chunk
const uint V_EIGHTS = V_WORDS / VKF_EIGHT_WORDS(TYPE_V);
const uint K_BLOCK_BYTES = VKF_BLOCK_BYTES(TYPE_K);
const uint V_BLOCK_BYTES = VKF_BLOCK_BYTES(TYPE_V);
const uint K_CODES_AT = VKF_BLOCK_CODES_AT(TYPE_K);
const uint V_CODES_AT = VKF_BLOCK_CODES_AT(TYPE_V);
#define K_LANE_CHUNKS LaneChunks(TYPE_K, K_BLOCK_BYTES, K_CODES_AT, K_SHARES, K_WORDS, K_UNIT, K_HEADER)
#define V_LANE_CHUNKS LaneChunks(TYPE_V, V_BLOCK_BYTES, V_CODES_AT, V_SHARES, V_WORDS, V_UNIT, V_HEADER)
const uint K_CHUNKS = VKF_LANE_CHUNKS(HEAD_DIM, DEPTH_LANES, K_SHARES); // chunks of a lane
const uint V_CHUNKS = VKF_LANE_CHUNKS(VALUE_DIM, ROW_LANES, V_SHARES);
const uint V_PLACE = LEFT_FRAGMENT_ROWS * K_CHUNKS * K_FETCHED; // where the fetched words of v begin
const uint FETCHED_END = V_PLACE + VALUE_KEYS * V_CHUNKS * V_FETCHED;
const uint MOST_CODE_WORDS = 10; // the most words that are loaded for the codes of a chunk

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

// Where the words of chunk number `number` of k begin in fetched_blocks. valuePlace does the same for v.
uint keyPlace(const uint fragment_row, const uint number) {
    return (fragment_row * K_CHUNKS + number) * K_FETCHED;
}

uint valuePlace(const uint key, const uint number) {
    return V_PLACE + (key * V_CHUNKS + number) * V_FETCHED;
}

// Where the codes of a chunk begin, in bytes from the start of the row.
uint codesBegin(const uint chunk, const LaneChunks chunks) {
    return chunk / chunks.shares * chunks.block_bytes + chunks.codes_at +
           chunk % chunks.shares * (chunks.words * 4);
}

// The rotation of a chunk in registers, in bytes.
uint rotationOf(const uint chunk, const LaneChunks chunks) {
    return (codesBegin(chunk, chunks) - 2) % (chunks.unit * 4) + 2;
}

// Whether the chunk's block starts in the middle of a word of 4 bytes.
bool startsBetween(const uint chunk, const LaneChunks chunks) {
    return chunks.block_bytes % 4 != 0 && chunk / chunks.shares % 2 != 0;
}

// The unit of a row in which the loads of a chunk begin.
uint firstUnit(const uint chunk, const LaneChunks chunks) {
    return (codesBegin(chunk, chunks) - rotationOf(chunk, chunks)) / (chunks.unit * 4);
}

// Loads a chunk of the row that begins `row` units after the address.
void fetchChunk(const uint place, const uvec2 address, const uint row, const uint chunk, const LaneChunks chunks) {
    if (chunks.header_words != 0) {
        const uint header = row * chunks.unit + chunk / chunks.shares * chunks.block_bytes / 4;
        fetched_blocks[place] = RowWords(address).word[header];
        if (VKF_BLOCK_HAS_FIFTH_BITS(chunks.type)) {
            fetched_blocks[place + 1] = RowWords(address).word[header + 1];
        }
    }
    const uint first = place + chunks.header_words;
    const uint unit = row + firstUnit(chunk, chunks);
    UNROLL for (uint i = 0; i < MOST_CODE_WORDS; i++) {
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
        fetchChunk(keyPlace(fragment_row, i), address, row, keyChunk(i), K_LANE_CHUNKS);
    }
}

void fetchValueBlocks(const uint key, const uvec2 address, const uint row) {
    UNROLL for (uint i = 0; i < V_CHUNKS; i++) {
        fetchChunk(valuePlace(key, i), address, row, valueChunk(i), V_LANE_CHUNKS);
    }
}

void forgetKeyBlocks() {
    FORGET(fetched_blocks, 0, V_PLACE, 0)
}

void forgetValueBlocks() {
    FORGET(fetched_blocks, V_PLACE, FETCHED_END, 0)
}

#endif
