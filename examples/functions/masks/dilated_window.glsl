// SPDX-License-Identifier: MIT
//
// Dilated sliding window: every DILATION-th key on both sides, up to a distance of WINDOW.
// attention-gym: dilated sliding window.

const int WINDOW = 64;
const int DILATION = 4;

bool keep(Position at) {
    int distance = abs(at.row - at.key);
    return distance <= WINDOW && distance % DILATION == 0;
}
