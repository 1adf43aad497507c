// SPDX-License-Identifier: MIT
#include "pipelines/known_branches.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace vkf {
namespace {

// What several paths have in common: the value that all have, or nothing.
class Common {
public:
    void add(Known value) {
        value_ = isFirst_ || value_ == value ? value : Known();
        isFirst_ = false;
    }
    Known value() const { return value_; }

private:
    bool isFirst_ = true;
    Known value_;
};

// Calls visit(label) for each block to which a block can branch if nothing is known of its condition.
template <typename Visit> void forEachTarget(Instruction end, const Visit& visit) {
    switch (opcodeOf(end)) {
    case opBranch:
        visit(end[1]);
        break;
    case opBranchConditional:
        visit(end[2]);
        visit(end[3]);
        break;
    case opSwitch: // a default, then numbers and labels in turn
        for (size_t i = 2; i < end.size(); i += 2) {
            visit(end[i]);
        }
        break;
    default:
        break;
    }
}

} // namespace

KnownBranches::KnownBranches(const SpirvModule& module, std::span<const uint32_t> constants)
    : module_(module), constants_(constants), values_(module.idBound()), specIds_(module.idBound()),
      passed_(module.idBound()), scalars_(module.idBound()), called_(module.idBound()), runs_(module.idBound()) {
    uint32_t entry = 0;
    for (const Instruction instruction : module.globals()) {
        if (opcodeOf(instruction) == opEntryPoint) {
            entry = instruction[2];
        }
        readGlobal(instruction);
    }
    call(module.function(entry));
}

uint32_t KnownBranches::constantOf(uint32_t id, uint32_t byDefault) const {
    const Known number = specIds_[id];
    return number && *number < constants_.size() ? constants_[*number] : byDefault;
}

Known KnownBranches::onlyTarget(const Block& block) const {
    if (opcodeOf(block.end) != opBranchConditional) {
        return {};
    }
    const Known condition = value(block.end[1]);
    return condition ? Known(block.end[*condition != 0 ? 2 : 3]) : Known();
}

bool KnownBranches::leads(const Block& from, uint32_t label) const {
    if (const Known only = onlyTarget(from)) {
        return runs(from.label) && *only == label;
    }
    bool found = false;
    forEachTarget(from.end, [&](uint32_t target) { found = found || target == label; });
    return runs(from.label) && found;
}

void KnownBranches::readGlobal(Instruction instruction) {
    const uint32_t opcode = opcodeOf(instruction);
    if (opcode == opDecorate && instruction[2] == specIdDecoration) {
        specIds_[instruction[1]] = instruction[3];
    } else if (opcode == opTypeBool || (opcode == opTypeInt && instruction[2] == 32)) {
        scalars_[instruction[1]] = true;
    } else if (opcode >= opConstantTrue && opcode <= opSpecConstantOp && scalars_[instruction[1]]) {
        values_[instruction[2]] = constant(opcode, instruction);
    }
}

Known KnownBranches::constant(uint32_t opcode, Instruction instruction) const {
    switch (opcode) {
    case opConstantTrue:
        return 1;
    case opConstantFalse:
        return 0;
    case opConstant:
        return instruction[3];
    case opSpecConstantTrue:
    case opSpecConstantFalse:
        return constantOf(instruction[2], opcode == opSpecConstantTrue ? 1 : 0) != 0 ? 1 : 0;
    case opSpecConstant:
        return constantOf(instruction[2], instruction[3]);
    case opSpecConstantOp:
        return operation(instruction[3], instruction.subspan(4));
    default:
        return {};
    }
}

Known KnownBranches::operation(uint32_t opcode, Instruction operands) const {
    std::array<Known, 3> known; // no operation has more operands
    if (operands.size() > known.size()) {
        return {};
    }
    std::transform(operands.begin(), operands.end(), known.begin(), [this](uint32_t id) { return value(id); });
    return resultOf(opcode, std::span(known).first(operands.size()));
}

void KnownBranches::call(const Function& function) {
    called_[function.id] = true;
    runs_[function.blocks.front().label] = true;
    while (pass(function)) {
    }
}

bool KnownBranches::pass(const Function& function) {
    for (const Block& block : function.blocks) {
        passed_[block.label] = nullptr;
    }
    Common returned;
    bool again = false;
    const auto run = [&](uint32_t label) {
        again = again || (!runs_[label] && passed_[label] != nullptr);
        runs_[label] = true;
    };
    for (const Block& block : function.blocks) {
        if (runs(block.label)) {
            for (const Instruction instruction : block.body) {
                compute(block, instruction);
            }
            if (const Known only = onlyTarget(block)) {
                run(*only);
            } else {
                forEachTarget(block.end, run);
            }
            if (opcodeOf(block.end) == opReturnValue) {
                returned.add(value(block.end[1]));
            }
        }
        passed_[block.label] = &block;
    }
    values_[function.id] = returned.value();
    return again;
}

void KnownBranches::compute(const Block& block, Instruction instruction) {
    const uint32_t opcode = opcodeOf(instruction);
    if (opcode == opFunctionCall && !isCalled(instruction[3])) {
        call(module_.function(instruction[3]));
    }
    const uint32_t id = resultIdOf(instruction);
    if (id == 0 || !scalars_[instruction[1]]) {
        return;
    }
    Known& result = values_[id];
    if (opcode == opFunctionCall) {
        result = value(instruction[3]);
    } else if (opcode == opPhi) {
        result = phi(block, instruction);
    } else {
        result = operation(opcode, instruction.subspan(3));
    }
}

Known KnownBranches::phi(const Block& block, Instruction instruction) const {
    Common incoming;
    for (size_t i = 3; i < instruction.size(); i += 2) {
        const Block* from = passed_[instruction[i + 1]];
        if (from == nullptr) {
            return {}; // the back edge of a loop
        }
        if (leads(*from, block.label)) {
            incoming.add(value(instruction[i]));
        }
    }
    return incoming.value();
}

} // namespace vkf
