// SPDX-License-Identifier: MIT
#include "cli/block_mask_options.hpp"

#include "cli/error.hpp"
#include "cli/program/help.hpp"

namespace vkf::tools {

void addMaskBlockOption(CLI::App& command, uint32_t& block) {
    const HelpGroup group(command, masksGroup);
    command.add_option("--mask-block", block, "block size of a block mask, in rows and in keys; a multiple of 16");
}

void checkDensity(double density, uint32_t maskBlock) {
    if (!(density >= 0 && density <= 1))
        failInput("--block-density {}: takes the share of open blocks, from 0 to 1", density);
    if (maskBlock == 0)
        failInput("--block-density {}: needs --mask-block", density);
}

std::vector<uint32_t> packBlockMask(const Tensor& file, const std::string& name, VkfProblem& problem) {
    if (file.type != ElementType::u8 && file.type != ElementType::boolean)
        failInput("{}: holds {}; block masks are bool or uint8", name, elementName(file.type));
    const VkfBlockMaskLayout layout = vkf::blockMaskLayoutOf(problem);
    const size_t rank = file.shape.size();
    const auto extent = [&](size_t fromEnd) { return fromEnd < rank ? file.shape[rank - 1 - fromEnd] : 1; };
    const uint64_t heads = extent(2);
    const uint64_t batch = extent(3);
    if (rank < 2 || rank > 4 || extent(0) != layout.keyBlocks || extent(1) != layout.rowBlocks ||
        (heads != 1 && heads != problem.queryHeads) || (batch != 1 && batch != problem.batch))
        failInput("{}: has shape {}; blocks of {} make [{}, {}], with {} heads or 1 and {} sequences or 1 in front",
                  name, shapeText(file.shape), problem.blockMask.blockSize, layout.rowBlocks, layout.keyBlocks,
                  problem.queryHeads, problem.batch);
    const uint64_t wordsOfHead = uint64_t{layout.rowBlocks} * layout.rowWords;
    problem.blockMask.headStride = heads == 1 ? 0 : wordsOfHead;
    problem.blockMask.batchStride = batch == 1 ? 0 : wordsOfHead * heads;
    std::vector<uint32_t> words(wordsOfHead * heads * batch);
    for (size_t i = 0; i < file.bytes.size(); ++i) {
        const uint64_t block = i % layout.keyBlocks;
        if (file.bytes[i] != std::byte{0})
            words[i / layout.keyBlocks * layout.rowWords + block / 32] |= 1U << block % 32;
    }
    return words;
}

} // namespace vkf::tools
