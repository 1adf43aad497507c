// SPDX-License-Identifier: MIT
//
// Tiles of keys that were chosen for each tile of rows, as in Video Sparse Attention (arXiv 2505.13389).
// attention-gym: vsa.
// Arrays: chosen i32 [tiles of keys, TOP_K], the numbers of the key tiles that a tile of rows sees.

const int TILE = 64; // rows and keys of a tile
const int TOP_K = 8;

bool keep(Position at) {
    int list = clamp(at.row, 0, at.keys - 1) / TILE * TOP_K;
    bool isChosen = false;
    for (int i = 0; i < TOP_K; i++) {
        isChosen = isChosen || chosen(list + i) == at.key / TILE;
    }
    return isChosen;
}
