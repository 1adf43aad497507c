// SPDX-License-Identifier: MIT
//
// Neighborhood attention (arXiv 2204.07143) in an image whose pixels stand row by row. A pixel sees a window of KERNEL
// x KERNEL pixels. The window's centre is clamped, so that the window lies in the image. attention-gym: natten.

const int WIDTH = 32;
const int HEIGHT = 32;
const int KERNEL = 7;

ivec2 pixelOf(int i) {
    return ivec2(i % WIDTH, i / WIDTH);
}

bool keep(Position at) {
    ivec2 centre = clamp(pixelOf(max(at.row, 0)), ivec2(KERNEL / 2), ivec2(WIDTH, HEIGHT) - 1 - KERNEL / 2);
    ivec2 distance = abs(centre - pixelOf(at.key));
    return max(distance.x, distance.y) <= KERNEL / 2;
}
