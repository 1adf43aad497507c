// SPDX-License-Identifier: MIT
#include "pipelines/specialized_module.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "pipelines/known_branches.hpp"
#include "pipelines/spirv_module.hpp"

namespace vkf {
namespace {

// Writes what can run of a module.
class Writer {
public:
    Writer(Instruction words, const SpirvModule& module, const KnownBranches& known)
        : known_(known), leftOut_(module.idBound()), open_(module.idBound()), ends_(module.idBound()),
          continued_(module.idBound()) {
        functions_.reserve(words.size());
        words_.reserve(words.size());
        for (const Function& function : module.functions()) {
            if (known_.isCalled(function.id)) {
                write(function);
            } else {
                leaveOut(function);
            }
        }
        append(words.first(spirvHeaderWords), &words_);
        for (const Instruction instruction : module.globals()) {
            writeGlobal(instruction); // after the functions, because names and decorations go with what they belong to
        }
        append(functions_, &words_);
    }

    std::vector<uint32_t> take() { return std::move(words_); }

private:
    template <typename Words> static void append(const Words& words, std::vector<uint32_t>* to) {
        to->insert(to->end(), words.begin(), words.end());
    }
    template <typename Words> void append(const Words& words) { append(words, &functions_); }

    void leaveOut(const Function& function) {
        leaveOut(function.head);
        for (const Block& block : function.blocks) {
            leaveOut(block);
        }
    }
    void leaveOut(const Block& block) {
        leftOut_[block.label] = true;
        leaveOut(block.body);
    }
    void leaveOut(std::span<const Instruction> instructions) {
        for (const Instruction instruction : instructions) {
            leftOut_[resultIdOf(instruction)] = true;
        }
    }

    // A block that never runs stays as a stub if a selection or loop names it: as its end, or to continue the loop.
    void write(const Function& function) {
        for (const Block& block : function.blocks) {
            if (known_.runs(block.label) && keepsMerge(block)) {
                ends_[block.merge[1]] = true;
                if (opcodeOf(block.merge) == opLoopMerge) {
                    continued_[block.merge[2]] = block.label;
                }
            }
        }
        for (const Instruction instruction : function.head) {
            append(instruction);
        }
        for (const Block& block : function.blocks) {
            if (known_.runs(block.label)) {
                write(function, block);
            } else if (leaveOut(block); continued_[block.label] != 0) {
                append(std::array{headOf(opLabel, 2), block.label, headOf(opBranch, 2), continued_[block.label]});
            } else if (ends_[block.label]) {
                append(std::array{headOf(opLabel, 2), block.label, headOf(opUnreachable, 1)});
            }
        }
        append(std::array{headOf(opFunctionEnd, 1)});
    }

    // A selection ends with its branches. A loop does not.
    bool keepsMerge(const Block& block) const {
        return !block.merge.empty() && (opcodeOf(block.merge) == opLoopMerge || !known_.onlyTarget(block));
    }

    void write(const Function& function, const Block& block) {
        append(std::array{headOf(opLabel, 2), block.label});
        for (const Instruction instruction : block.body) {
            if (opcodeOf(instruction) == opPhi) {
                writePhi(function, block, instruction);
            } else {
                append(instruction);
            }
        }
        if (keepsMerge(block)) {
            append(block.merge);
        }
        if (const Known only = known_.onlyTarget(block)) {
            append(std::array{headOf(opBranch, 2), *only});
        } else {
            append(block.end);
        }
    }

    void writePhi(const Function& function, const Block& block, Instruction instruction) {
        const size_t begin = functions_.size();
        append(instruction.first(3));
        for (size_t i = 3; i < instruction.size(); i += 2) {
            const auto from = std::find_if(function.blocks.begin(), function.blocks.end(),
                                           [&](const Block& one) { return one.label == instruction[i + 1]; });
            if (known_.leads(*from, block.label)) {
                append(instruction.subspan(i, 2));
            }
        }
        if (!block.merge.empty() && opcodeOf(block.merge) == opLoopMerge && !known_.runs(block.merge[2])) {
            append(std::array{instruction[2], block.merge[2]}); // a stub, which never runs: any value will do
        }
        functions_[begin] = headOf(opPhi, static_cast<uint32_t>(functions_.size() - begin));
    }

    void writeGlobal(Instruction instruction) {
        const uint32_t opcode = opcodeOf(instruction);
        const bool describes = opcode == opName || opcode == opDecorate;
        const bool numbers = opcode == opDecorate && instruction[2] == specIdDecoration;
        if (numbers || (describes && leftOut_[instruction[1]])) {
            return;
        }
        if (opcode == opTypeBool) {
            boolean_ = instruction[1];
        }
        if (opcode >= opSpecConstantTrue && opcode <= opSpecConstantOp) {
            writeConstant(opcode, instruction);
        } else {
            append(instruction, &words_);
        }
    }

    void writeConstant(uint32_t opcode, Instruction instruction) {
        const uint32_t type = instruction[1];
        const uint32_t id = instruction[2];
        const Known value = opcode == opSpecConstant ? known_.constantOf(id, instruction[3]) : known_.value(id);
        if (value && type == boolean_) {
            append(std::array{headOf(*value != 0 ? opConstantTrue : opConstantFalse, 3), type, id}, &words_);
        } else if (value) {
            append(std::array{headOf(opConstant, 4), type, id, *value}, &words_);
        } else {
            append(instruction, &words_);
            const bool isComposite = opcode == opSpecConstantComposite;
            const auto isOpen = [this](uint32_t operand) { return open_[operand]; };
            if (!isComposite || std::any_of(instruction.begin() + 3, instruction.end(), isOpen)) {
                open_[id] = true;
            } else {
                words_[words_.size() - instruction.size()] =
                    headOf(opConstantComposite, static_cast<uint32_t>(instruction.size()));
            }
        }
    }

    const KnownBranches& known_;
    std::vector<uint32_t> words_;
    std::vector<uint32_t> functions_; // their words, which stand behind all others
    uint32_t boolean_ = 0;            // the type
    // By id:
    std::vector<bool> leftOut_;
    std::vector<bool> open_;          // constants that the driver computes, and what is made of them
    std::vector<bool> ends_;          // labels that selections and loops name as ends
    std::vector<uint32_t> continued_; // the first block of a loop, by the block that continues it
};

} // namespace

std::vector<uint32_t> specialized(const std::vector<uint32_t>& module, std::span<const uint32_t> constants) {
    const Instruction words(module);
    const SpirvModule parts(words);
    const KnownBranches known(parts, constants);
    return Writer(words, parts, known).take();
}

} // namespace vkf
