// SPDX-License-Identifier: MIT
//
// Where p and ds of a band lie in scratch memory. A band has matrices of MATRIX_ROWS keys and MATRIX_DEPTH query rows:
//
//     [query head of the pass, pair of tiles, keys of a tile / MATRIX_ROWS, BAND_SHARED_ROWS / MATRIX_DEPTH]
//
// Two tiles of keys share BAND_SHARED_ROWS rows: the first tile of the band and the last one, the second one and the
// last but one, and so on. A tile has the rows that see some of its keys. The first one of a pair has its rows from the
// front on, the other one has its rows up to the end. So the band has half of the size under a causal mask, and less
// with a window.
//
// A matrix is one piece of memory. With PAIRS_BY_LANE it has the elements of invocation 0, then those of invocation 1,
// and so on, as left operands hold them. So an invocation stores and loads whole words, and a subgroup one piece. The
// driver's element layout does not matter, because both kernels use matrices of one type and shape. Without
// PAIRS_BY_LANE, a matrix has its rows one after another.
#ifndef VKF_STORED_MATRICES_GLSL
#define VKF_STORED_MATRICES_GLSL

layout(constant_id = VKF_ID_BAND_SHARED_ROWS) const uint BAND_SHARED_ROWS = 1;

const uint STORED_WORDS = MATRIX_ROWS * MATRIX_DEPTH / 8; // words of a matrix; a word has 8 elements
const uint STORED_ROW = MATRIX_DEPTH / 8;                 // without PAIRS_BY_LANE: words from row to row
const uint LANE_WORDS = PAIRS_BY_LANE ? ELEMENTS / 8 : 1; // words of an invocation

// Words from a matrix to the matrix of the next keys. The matrix of the next rows is STORED_WORDS behind.
const uint STORED_KEY_STRIDE = BAND_SHARED_ROWS / MATRIX_DEPTH * STORED_WORDS;
const uint STORED_PAIR_WORDS = STORED_TILE_KEYS / MATRIX_ROWS * STORED_KEY_STRIDE;
const uint STORED_HEAD_WORDS = (BAND_TILES + 1) / 2 * STORED_PAIR_WORDS;

struct StoredTile {
    uvec2 rows; // [x, y), whole tiles of rows; none if x = y
    uint word;  // where its first key would have row 0, without the head; modulo 2^32
};

// The tile of keys of a band of which the pass has the item. `number`: of the tile in its band.
StoredTile storedTile(const Item item, const uint key, const uint number) {
    uvec2 seeing = rowsThatSee(item, key, key + STORED_TILE_KEYS);
    uvec2 rows = (seeing + uvec2(0, STORED_TILE_ROWS - 1)) / STORED_TILE_ROWS * STORED_TILE_ROWS;
    bool in_front = 2 * number < BAND_TILES;
    uint pair = in_front ? number : BAND_TILES - 1 - number;
    uint behind = in_front || rows.x == rows.y ? 0 : BAND_SHARED_ROWS - (rows.y - rows.x);
    return StoredTile(rows, pair * STORED_PAIR_WORDS + behind / MATRIX_DEPTH * STORED_WORDS -
                                rows.x / MATRIX_DEPTH * STORED_WORDS);
}

// The first word of the matrix that begins with a key of the tile, counted from its first one, and a row.
uint storedWord(const StoredTile tile, const uint key, const uint row) {
    return tile.word + key / MATRIX_ROWS * STORED_KEY_STRIDE + row / MATRIX_DEPTH * STORED_WORDS;
}

#endif
