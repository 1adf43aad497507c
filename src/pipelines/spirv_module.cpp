// SPDX-License-Identifier: MIT
#include "pipelines/spirv_module.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace vkf {
namespace {

bool endsBlock(Instruction instruction) {
    return opcodeOf(instruction) >= opBranch && opcodeOf(instruction) <= opUnreachable;
}

Block blockOf(std::span<const Instruction> instructions) {
    Block block{instructions.front()[1], instructions.subspan(1, instructions.size() - 2), {}, instructions.back()};
    if (!block.body.empty() &&
        (opcodeOf(block.body.back()) == opLoopMerge || opcodeOf(block.body.back()) == opSelectionMerge)) {
        block.merge = block.body.back();
        block.body = block.body.first(block.body.size() - 1);
    }
    return block;
}

} // namespace

uint32_t resultIdOf(Instruction instruction) {
    constexpr std::array without = {
        opLine, opStore, opCopyMemory, opControlBarrier, opMemoryBarrier, opAtomicStore, opCooperativeMatrixStore};
    const bool defines = std::find(without.begin(), without.end(), opcodeOf(instruction)) == without.end();
    return defines && instruction.size() > 2 ? instruction[2] : 0;
}

SpirvModule::SpirvModule(Instruction words) : idBound_(words[3]) {
    std::array<size_t, opUnreachable + 1> counts{};
    size_t count = 0;
    forEachInstruction(words, [&](uint32_t opcode, Instruction) {
        count++;
        counts[opcode < counts.size() ? opcode : 0]++;
    });
    instructions_.reserve(count);
    blocks_.reserve(counts[opLabel]);
    functions_.reserve(counts[opFunction]);
    forEachInstruction(words, [&](uint32_t, Instruction instruction) { instructions_.push_back(instruction); });

    const std::span<const Instruction> all = instructions_;
    const auto next = [&](size_t from, auto condition) {
        return static_cast<size_t>(std::find_if(all.begin() + static_cast<std::ptrdiff_t>(from), all.end(), condition) -
                                   all.begin());
    };
    const auto is = [](uint32_t opcode) { return [opcode](Instruction one) { return opcodeOf(one) == opcode; }; };
    size_t at = next(0, is(opFunction));
    globals_ = all.first(at);
    while (at < count) {
        const size_t first = next(at, is(opLabel));
        const size_t firstBlock = blocks_.size();
        const std::span<const Instruction> head = all.subspan(at, first - at);
        for (at = first; opcodeOf(all[at]) == opLabel;) {
            const size_t end = next(at, endsBlock) + 1;
            blocks_.push_back(blockOf(all.subspan(at, end - at)));
            at = end;
        }
        functions_.push_back({head.front()[2], head, std::span<const Block>(blocks_).subspan(firstBlock)});
        at++; // past OpFunctionEnd
    }
}

const Function& SpirvModule::function(uint32_t id) const {
    return *std::find_if(functions_.begin(), functions_.end(), [id](const Function& one) { return one.id == id; });
}

} // namespace vkf
