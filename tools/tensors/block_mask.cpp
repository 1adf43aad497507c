// SPDX-License-Identifier: MIT
#include "tensors/block_mask.hpp"

#include <algorithm>

#include "tensors/generator.hpp"

namespace vkf::tools {

namespace {

// Index of the first word of the mask of one head of one sequence.
uint64_t firstWord(const VkfProblem& problem, uint64_t batch, uint64_t head) {
    return batch * problem.blockMask.batchStride + head * problem.blockMask.headStride;
}

// Keys [begin, end) that a row sees without the block mask.
struct Keys {
    int64_t begin, end;
};

Keys visibleKeys(const VkfProblem& problem, int64_t row) {
    const int64_t keys = problem.keys;
    const int64_t place = row + (problem.alignment == VKF_ALIGNMENT_TOP_LEFT ? 0 : keys - int64_t{problem.queryRows});
    Keys visible{0, keys};
    if (has(problem, VKF_USE_WINDOW) && problem.window.left >= 0 && problem.window.left < place)
        visible.begin = place - problem.window.left;
    if (has(problem, VKF_USE_CAUSAL))
        visible.end = place + 1;
    else if (has(problem, VKF_USE_WINDOW) && problem.window.right >= 0 && problem.window.right < keys - place)
        visible.end = place + problem.window.right + 1;
    return {visible.begin, std::min(visible.end, keys)};
}

} // namespace

void separateBlockMasks(VkfProblem& problem) {
    const VkfBlockMaskLayout layout = vkf::blockMaskLayoutOf(problem);
    problem.blockMask.headStride = uint64_t{layout.rowBlocks} * layout.rowWords;
    problem.blockMask.batchStride = problem.blockMask.headStride * problem.queryHeads;
}

std::vector<uint32_t> randomBlockMask(const VkfProblem& problem, double density, uint64_t seed) {
    std::vector<uint32_t> words(vkf::blockMaskLayoutOf(problem).words);
    Generator generator(seed);
    for (uint32_t& word : words)
        for (uint32_t bit = 0; bit < 32; ++bit)
            if (static_cast<double>(generator.next() >> 11) < density * 0x1p53)
                word |= 1U << bit;
    return words;
}

double visiblePairs(const VkfProblem& problem, const std::vector<uint32_t>& blockMask) {
    const uint64_t rowWords = vkf::blockMaskLayoutOf(problem).rowWords;
    const int64_t block = problem.blockMask.blockSize;
    double pairs = 0;
    for (uint64_t batch = 0; batch < problem.batch; ++batch)
        for (uint64_t head = 0; head < problem.queryHeads; ++head)
            for (int64_t row = 0; row < problem.queryRows; ++row) {
                const Keys visible = visibleKeys(problem, row);
                const uint32_t* words =
                    &blockMask[firstWord(problem, batch, head) + static_cast<uint64_t>(row / block) * rowWords];
                for (int64_t key = visible.begin; key < visible.end;) {
                    const int64_t end = std::min((key / block + 1) * block, visible.end);
                    if ((words[key / block / 32] >> (key / block % 32) & 1U) != 0)
                        pairs += static_cast<double>(end - key);
                    key = end;
                }
            }
    return pairs;
}

} // namespace vkf::tools
