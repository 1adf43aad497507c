// SPDX-License-Identifier: MIT
//
// Prefix LM: all rows see the first PREFIX keys, and the rest is causal. attention-gym: prefix LM.

const int PREFIX = 128;

const bool keepIsMonotone = true;

bool keep(Position at) {
    return at.key < PREFIX || at.key <= at.row;
}
