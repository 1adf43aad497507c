// SPDX-License-Identifier: MIT
//
// Neighborhood attention as in natten.glsl. The pixels stand tile by tile, and row by row inside a tile of TILE x TILE.
// Neighbours are then near in memory, and more tiles of the kernel are empty. attention-gym: tiled natten.

const int WIDTH = 32;
const int HEIGHT = 32;
const int KERNEL = 7;
const int TILE = 8; // divides WIDTH and HEIGHT

ivec2 pixelOf(int i) {
    int tile = i / (TILE * TILE);
    int inside = i % (TILE * TILE);
    return TILE * ivec2(tile % (WIDTH / TILE), tile / (WIDTH / TILE)) + ivec2(inside % TILE, inside / TILE);
}

bool keep(Position at) {
    ivec2 centre = clamp(pixelOf(max(at.row, 0)), ivec2(KERNEL / 2), ivec2(WIDTH, HEIGHT) - 1 - KERNEL / 2);
    ivec2 distance = abs(centre - pixelOf(at.key));
    return max(distance.x, distance.y) <= KERNEL / 2;
}
