// SPDX-License-Identifier: MIT
#include "tensors/block_mask.hpp"

#include "tensors/generator.hpp"

namespace vkf::tools {

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

} // namespace vkf::tools
