// SPDX-License-Identifier: MIT
//
// Sliding tile attention (arXiv 2502.04507) in a video. The pixels stand tile by tile, and a tile spans several frames.
// A tile sees a window of KERNEL_X x KERNEL_Y x KERNEL_Z tiles, clamped into the video. attention-gym: sta, 3-D.

const int TILE = 256; // pixels of a tile
const int TILES_X = 6;
const int TILES_Y = 4;
const int TILES_Z = 4;
const int KERNEL_X = 3;
const int KERNEL_Y = 3;
const int KERNEL_Z = 3;

ivec3 tileOf(int i) {
    int tile = i / TILE;
    return ivec3(tile % TILES_X, tile / TILES_X % TILES_Y, tile / (TILES_X * TILES_Y));
}

bool keep(Position at) {
    ivec3 reach = ivec3(KERNEL_X, KERNEL_Y, KERNEL_Z) / 2;
    ivec3 centre = clamp(tileOf(max(at.row, 0)), reach, ivec3(TILES_X, TILES_Y, TILES_Z) - 1 - reach);
    return all(lessThanEqual(abs(centre - tileOf(at.key)), reach));
}
