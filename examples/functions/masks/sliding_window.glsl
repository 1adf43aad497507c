// SPDX-License-Identifier: MIT
//
// Causal sliding window: a row sees its own key and the WINDOW keys before it. attention-gym: sliding window.

const int WINDOW = 64;

bool keep(Position at) {
    return at.key <= at.row && at.row - at.key <= WINDOW;
}
