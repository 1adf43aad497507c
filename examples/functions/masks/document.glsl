// SPDX-License-Identifier: MIT
//
// Documents packed into one sequence: causal inside each document. attention-gym: document mask.
// Arrays: document i32 [keys], the number of each key's document.

bool keep(Position at) {
    // Read before any condition: loads behind one wait for each other, pair by pair.
    bool isSame = document(clamp(at.row, 0, at.keys - 1)) == document(at.key);
    return at.row >= 0 && at.row < at.keys && at.key <= at.row && isSame;
}
