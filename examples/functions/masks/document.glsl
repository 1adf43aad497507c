// SPDX-License-Identifier: MIT
//
// Documents packed into one sequence: causal inside each document. attention-gym: document mask.
// Arrays: document i32 [keys], the number of each key's document.

bool keep(Position at) {
    bool isInside = at.row >= 0 && at.row < at.keys;
    return isInside && at.key <= at.row && document(at.row) == document(at.key);
}
