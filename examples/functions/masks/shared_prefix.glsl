// SPDX-License-Identifier: MIT
//
// Shared prefix: causal inside each document, and every document sees one more document, the prefix.
// attention-gym: shared prefix.
// Arrays: document i32 [keys], the number of each key's document.

const int PREFIX = 0; // number of the document that all see

bool keep(Position at) {
    bool isInside = at.row >= 0 && at.row < at.keys;
    bool isShared = document(at.key) == PREFIX;
    return at.key <= at.row && (isShared || isInside && document(at.row) == document(at.key));
}
