// SPDX-License-Identifier: MIT
//
// Spatial and temporal heads of video models, as in Sparse VideoGen (arXiv 2502.01776). A spatial head sees the row's
// own frame. A temporal head sees the row's own place in all frames. attention-gym: svg, which has wider bands.
// Arrays: isTemporal u8 [heads], nonzero = temporal.

const int FRAME = 256; // pixels of a frame

bool keep(Position at) {
    int pixel = max(at.row, 0);
    return isTemporal(at.head) != 0 ? pixel % FRAME == at.key % FRAME : pixel / FRAME == at.key / FRAME;
}
