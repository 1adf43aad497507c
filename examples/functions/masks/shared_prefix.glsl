// SPDX-License-Identifier: MIT
//
// Shared prefix: causal inside each document, and every document sees one more document, the prefix.
// attention-gym: shared prefix.
// Arrays: document i32 [keys], the number of each key's document.

const int PREFIX = 0; // number of the document that all see

bool keep(Position at) {
    bool isInside = at.row >= 0 && at.row < at.keys;
    int ofKey = document(at.key);
    int ofRow = document(clamp(at.row, 0, at.keys - 1));
    return at.key <= at.row && (ofKey == PREFIX || isInside && ofRow == ofKey);
}
