// SPDX-License-Identifier: MIT
//
// Cross attention from text to images, as in Flamingo (arXiv 2204.14198). A row of text sees an image if the image's
// interval of rows holds it. The keys are the tokens of all images. attention-gym: flamingo.
// Arrays: interval i32 [images, 2], the first row and one past the last row that see an image.

const int IMAGE_TOKENS = 256;

bool keep(Position at) {
    int text = at.row + at.rows - at.keys; // number of the row, with bottom-right alignment
    int image = at.key / IMAGE_TOKENS;
    return text >= interval(2 * image) && text < interval(2 * image + 1);
}
