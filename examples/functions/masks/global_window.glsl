// SPDX-License-Identifier: MIT
//
// Sliding window with global tokens, as in Longformer (arXiv 2004.05150). A global token sees all keys, and all rows
// see a global token. attention-gym: global sliding window.
// Arrays: isGlobal u8 [keys], nonzero = global.

const int WINDOW = 64;

bool keep(Position at) {
    bool isInside = at.row >= 0 && at.row < at.keys;
    bool isGlobalRow = isGlobal(clamp(at.row, 0, at.keys - 1)) != 0;
    bool isGlobalKey = isGlobal(at.key) != 0;
    return abs(at.row - at.key) <= WINDOW || isGlobalKey || isInside && isGlobalRow;
}
