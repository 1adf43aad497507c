// SPDX-License-Identifier: MIT
//
// Sliding tile attention (arXiv 2502.04507) in an image. The pixels stand tile by tile. A tile sees a window of KERNEL
// x KERNEL tiles. The window's centre is clamped, so that the window lies in the image. attention-gym: sta, 2-D.

const int TILE = 64; // pixels of a tile
const int TILES_X = 8;
const int TILES_Y = 8;
const int KERNEL = 3;

ivec2 tileOf(int i) {
    int tile = i / TILE;
    return ivec2(tile % TILES_X, tile / TILES_X);
}

bool keep(Position at) {
    ivec2 centre = clamp(tileOf(max(at.row, 0)), ivec2(KERNEL / 2), ivec2(TILES_X, TILES_Y) - 1 - KERNEL / 2);
    ivec2 distance = abs(centre - tileOf(at.key));
    return max(distance.x, distance.y) <= KERNEL / 2;
}
