// SPDX-License-Identifier: MIT
//
// Where p and ds of a band lie in scratch memory. A band has matrices of MATRIX_ROWS keys and MATRIX_DEPTH query rows:
//
//     [query head of the pass, keys of the band / MATRIX_ROWS, VKF_DS_ROWS / MATRIX_DEPTH]
//
// A matrix is one piece of memory. With PAIRS_BY_LANE it has the elements of invocation 0, then those of invocation 1,
// and so on, as left operands hold them. So an invocation stores and loads whole words, and a subgroup one piece. The
// driver's element layout does not matter, because both kernels use matrices of one type and shape. Without
// PAIRS_BY_LANE, a matrix has its rows one after another.
//
// Needs: matrix/matrix_layout.glsl, gradient/bands.glsl. Provides: STORED_WORDS, LANE_WORDS, storedMatrix, storedKeyStep.
#ifndef VKF_STORED_MATRICES_GLSL
#define VKF_STORED_MATRICES_GLSL

const uint STORED_WORDS = MATRIX_ROWS * MATRIX_DEPTH / 8; // words of a matrix; a word has 8 elements
const uint STORED_ROW = MATRIX_DEPTH / 8;                 // without PAIRS_BY_LANE: words from row to row
const uint LANE_WORDS = PAIRS_BY_LANE ? ELEMENTS / 8 : 1; // words of an invocation

// Words from a matrix to the matrix of the next keys. The matrix of the next rows is STORED_WORDS behind.
uint storedKeyStep() {
    return VKF_DS_ROWS(params.query_rows) / MATRIX_DEPTH * STORED_WORDS;
}

// The first word of the matrix that begins with a key and a row. `place` is the number of the key among those of the
// pass: the query head's number times the keys of a band, plus the number of the key in the band.
uint storedMatrix(const uint place, const uint row) {
    return place / MATRIX_ROWS * storedKeyStep() + row / MATRIX_DEPTH * STORED_WORDS;
}

#endif
