// SPDX-License-Identifier: MIT
//
// Neighborhood attention as in natten.glsl. The pixels stand in Morton order: the bits of x and y alternate in the
// position. attention-gym: morton natten.

const int WIDTH = 32; // a power of two: HEIGHT or twice HEIGHT
const int HEIGHT = 32;
const int KERNEL = 7;

// Bits 0, 2, 4, ... of i side by side.
int evenBits(int i) {
    i &= 0x55555555;
    i = (i | i >> 1) & 0x33333333;
    i = (i | i >> 2) & 0x0f0f0f0f;
    i = (i | i >> 4) & 0x00ff00ff;
    return (i | i >> 8) & 0xffff;
}

ivec2 pixelOf(int i) {
    return ivec2(evenBits(i), evenBits(i >> 1));
}

bool keep(Position at) {
    ivec2 centre = clamp(pixelOf(max(at.row, 0)), ivec2(KERNEL / 2), ivec2(WIDTH, HEIGHT) - 1 - KERNEL / 2);
    ivec2 distance = abs(centre - pixelOf(at.key));
    return max(distance.x, distance.y) <= KERNEL / 2;
}
