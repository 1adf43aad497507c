// SPDX-License-Identifier: MIT
//
// The depth of k, or the column of v, that an element of a word of a block type belongs to.
//
// Needs: decode_matrix/lane_chunks.glsl. Provides: keyColumn, valueColumn.
#ifndef VKF_DECODE_MATRIX_CHUNK_COLUMNS_GLSL
#define VKF_DECODE_MATRIX_CHUNK_COLUMNS_GLSL

// The column of element 0 to 7 of eight elements of a chunk. Bytes count as the chunk lies in registers, rotated.
uint elementColumn(const uint chunk, const uint eight, const uint element, const LaneChunks chunks) {
    const bool q8_0 = chunks.type == VKF_STORED_Q8_0;
    const uint bytes = chunks.words * 4;
    uint byte = (element & 1) << 1 | (q8_0 ? (element & 4) | (element >> 1 & 1) : element >> 2);
    uint in_chunk = (eight * (q8_0 ? 8 : 4) + byte + bytes - rotationOf(chunk, chunks)) % bytes;
    uint half_block = !q8_0 && (element & 2) != 0 ? 16 : 0;
    return chunk / chunks.shares * VKF_BLOCK_ELEMENTS + chunk % chunks.shares * bytes + in_chunk + half_block;
}

// The depth of element 0 to 7 of a word of this lane's share of k.
uint keyColumn(const uint word, const uint element) {
    return elementColumn(keyChunk(word / K_EIGHTS), word % K_EIGHTS, element, K_LANE_CHUNKS);
}

// The column of element 0 to 7 of a word of this lane's share of v.
uint valueColumn(const uint word, const uint element) {
    return elementColumn(valueChunk(word / V_EIGHTS), word % V_EIGHTS, element, V_LANE_CHUNKS);
}

#endif
