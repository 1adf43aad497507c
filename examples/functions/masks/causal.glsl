// SPDX-License-Identifier: MIT
//
// Causal mask: a row sees no key after its own position. attention-gym: causal.

const bool keepIsMonotone = true;

bool keep(Position at) {
    return at.key <= at.row;
}
