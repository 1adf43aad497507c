// SPDX-License-Identifier: MIT
#include "pipelines/specialized_module.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <set>

#include "pipelines/known_branches.hpp"
#include "pipelines/spirv_module.hpp"

namespace vkf {
namespace {

// The id that an instruction in the body of a block defines, or 0.
uint32_t resultIdOf(Instruction instruction) {
    constexpr std::array without = {opStore,         opCopyMemory,  opControlBarrier,
                                    opMemoryBarrier, opAtomicStore, opCooperativeMatrixStore};
    const bool defines = std::find(without.begin(), without.end(), opcodeOf(instruction)) == without.end();
    return defines && instruction.size() > 2 ? instruction[2] : 0;
}

class Writer {
public:
    Writer(const SpirvModule& module, const KnownBranches& known, Instruction header) : known_(known) {
        for (const uint32_t id : module.order) {
            if (known_.isCalled(id)) {
                write(module.functions.at(id));
            } else {
                leaveOut(module.functions.at(id));
            }
        }
        std::vector<uint32_t> functions;
        functions.swap(words_);
        append(header);
        for (const Instruction instruction : module.globals) {
            writeGlobal(instruction); // after the functions, because names and decorations go with what they belong to
        }
        append(functions);
    }

    std::vector<uint32_t> take() { return std::move(words_); }

private:
    template <typename Words> void append(const Words& words) {
        words_.insert(words_.end(), words.begin(), words.end());
    }

    void leaveOut(const Function& function) {
        for (const Instruction instruction : function.head) {
            leftOut_.insert(resultIdOf(instruction));
        }
        for (const Block& block : function.blocks) {
            leaveOut(block);
        }
    }
    void leaveOut(const Block& block) {
        leftOut_.insert(block.label);
        for (const Instruction instruction : block.body) {
            leftOut_.insert(resultIdOf(instruction));
        }
    }

    // A block that never runs stays as a stub if a selection or loop names it: as its end, or to continue the loop.
    void write(const Function& function) {
        ends_.clear();
        continued_.clear();
        for (const Block& block : function.blocks) {
            if (known_.runs(block.label) && keepsMerge(block)) {
                ends_.insert(block.merge[1]);
                if (opcodeOf(block.merge) == opLoopMerge) {
                    continued_[block.merge[2]] = block.label;
                }
            }
        }
        for (const Instruction instruction : function.head) {
            append(instruction);
        }
        for (const Block& block : function.blocks) {
            const auto loop = continued_.find(block.label);
            if (known_.runs(block.label)) {
                write(function, block);
            } else if (leaveOut(block); loop != continued_.end()) {
                append(std::array{headOf(opLabel, 2), block.label, headOf(opBranch, 2), loop->second});
            } else if (ends_.contains(block.label)) {
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
                append(phiOf(function, block, instruction));
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

    std::vector<uint32_t> phiOf(const Function& function, const Block& block, Instruction instruction) const {
        std::vector<uint32_t> phi(instruction.begin(), instruction.begin() + 3);
        for (size_t i = 3; i < instruction.size(); i += 2) {
            const auto from = std::find_if(function.blocks.begin(), function.blocks.end(),
                                           [&](const Block& one) { return one.label == instruction[i + 1]; });
            if (known_.leads(*from, block.label)) {
                phi.insert(phi.end(), {instruction[i], from->label});
            }
        }
        for (const auto& [label, head] : continued_) {
            if (head == block.label && !known_.runs(label)) {
                phi.insert(phi.end(), {instruction[2], label}); // the stub never runs, so that any value will do
            }
        }
        phi[0] = headOf(opPhi, static_cast<uint32_t>(phi.size()));
        return phi;
    }

    void writeGlobal(Instruction instruction) {
        const uint32_t opcode = opcodeOf(instruction);
        const bool describes = opcode == opName || opcode == opDecorate;
        const bool numbers = opcode == opDecorate && instruction[2] == specIdDecoration;
        if (numbers || (describes && leftOut_.contains(instruction[1]))) {
            return;
        }
        if (opcode == opTypeBool) {
            boolean_ = instruction[1];
        }
        if (opcode >= opSpecConstantTrue && opcode <= opSpecConstantOp) {
            writeConstant(opcode, instruction);
        } else {
            append(instruction);
        }
    }

    void writeConstant(uint32_t opcode, Instruction instruction) {
        const uint32_t type = instruction[1];
        const uint32_t id = instruction[2];
        const Known value = opcode == opSpecConstant ? known_.constantOf(id, instruction[3]) : known_.value(id);
        if (value && type == boolean_) {
            append(std::array{headOf(*value != 0 ? opConstantTrue : opConstantFalse, 3), type, id});
        } else if (value) {
            append(std::array{headOf(opConstant, 4), type, id, *value});
        } else {
            append(instruction);
            const bool isComposite = opcode == opSpecConstantComposite;
            const auto isOpen = [this](uint32_t operand) { return open_.contains(operand); };
            if (!isComposite || std::any_of(instruction.begin() + 3, instruction.end(), isOpen)) {
                open_.insert(id);
            } else {
                words_[words_.size() - instruction.size()] =
                    headOf(opConstantComposite, static_cast<uint32_t>(instruction.size()));
            }
        }
    }

    const KnownBranches& known_;
    std::vector<uint32_t> words_;
    std::set<uint32_t> leftOut_;             // ids
    std::set<uint32_t> open_;                // constants that the driver computes, and what is made of them
    std::set<uint32_t> ends_;                // labels that the current function's selections and loops name as ends
    std::map<uint32_t, uint32_t> continued_; // the first block of a loop, by the block that continues it
    uint32_t boolean_ = 0;                   // the type
};

} // namespace

std::vector<uint32_t> specialized(const std::vector<uint32_t>& module, std::span<const uint32_t> constants) {
    const SpirvModule parts{Instruction(module)};
    const KnownBranches known(parts, constants);
    return Writer(parts, known, Instruction(module).first(spirvHeaderWords)).take();
}

} // namespace vkf
