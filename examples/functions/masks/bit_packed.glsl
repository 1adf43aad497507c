// SPDX-License-Identifier: MIT
//
// Mask of one bit for each pair: bit j mod 32 of word [i, j / 32] says whether row i sees key j.
// Arrays: words i32 [rows, WORDS].

const int WORDS = 32; // of one row: keys / 32, rounded up

bool keep(Position at) {
    int number = clamp(at.row + at.rows - at.keys, 0, at.rows - 1); // of the row, with bottom-right alignment
    return (words(number * WORDS + at.key / 32) >> at.key % 32 & 1) != 0;
}
