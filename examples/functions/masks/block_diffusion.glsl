// SPDX-License-Identifier: MIT
//
// Training of block diffusion models (arXiv 2503.09573). The sequence is a noised copy of the text, then the clean
// text. Every block sees itself and the clean blocks before it. attention-gym: block diffusion.

const int TEXT = 512; // tokens of one copy
const int BLOCK = 16;

bool keep(Position at) {
    int place = max(at.row, 0);
    bool isCleanRow = place >= TEXT;
    bool isCleanKey = at.key >= TEXT;
    int rowBlock = place % TEXT / BLOCK;
    int keyBlock = at.key % TEXT / BLOCK;
    bool isOwn = isCleanRow == isCleanKey && rowBlock == keyBlock;
    return isOwn || isCleanKey && keyBlock < rowBlock;
}
