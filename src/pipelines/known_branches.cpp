// SPDX-License-Identifier: MIT
#include "pipelines/known_branches.hpp"

#include <algorithm>
#include <cstddef>

namespace vkf {
namespace {

// The value that all have, or nothing.
Known common(const std::vector<Known>& values) {
    const bool equal = std::all_of(values.begin(), values.end(), [&](Known one) { return one == values.front(); });
    return equal && !values.empty() ? values.front() : Known();
}

} // namespace

KnownBranches::KnownBranches(const SpirvModule& module, std::span<const uint32_t> constants)
    : module_(module), constants_(constants) {
    uint32_t entry = 0;
    for (const Instruction instruction : module.globals) {
        if (opcodeOf(instruction) == opEntryPoint) {
            entry = instruction[2];
        }
        readGlobal(instruction);
    }
    call(entry);
}

Known KnownBranches::value(uint32_t id) const {
    const auto found = values_.find(id);
    return found == values_.end() ? Known() : found->second;
}

uint32_t KnownBranches::constantOf(uint32_t id, uint32_t byDefault) const {
    const auto found = specIds_.find(id);
    return found != specIds_.end() && found->second < constants_.size() ? constants_[found->second] : byDefault;
}

Known KnownBranches::onlyTarget(const Block& block) const {
    if (opcodeOf(block.end) != opBranchConditional) {
        return {};
    }
    const Known condition = value(block.end[1]);
    return condition ? Known(block.end[*condition != 0 ? 2 : 3]) : Known();
}

bool KnownBranches::leads(const Block& from, uint32_t label) const {
    const std::vector<uint32_t> all = targets(from);
    return runs(from.label) && std::find(all.begin(), all.end(), label) != all.end();
}

void KnownBranches::readGlobal(Instruction instruction) {
    const uint32_t opcode = opcodeOf(instruction);
    if (opcode == opDecorate && instruction[2] == specIdDecoration) {
        specIds_[instruction[1]] = instruction[3];
    } else if (opcode == opTypeBool || (opcode == opTypeInt && instruction[2] == 32)) {
        scalars_.insert(instruction[1]);
    } else if (opcode >= opConstantTrue && opcode <= opSpecConstantOp && scalars_.contains(instruction[1])) {
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
    std::vector<Known> known(operands.size());
    std::transform(operands.begin(), operands.end(), known.begin(), [this](uint32_t id) { return value(id); });
    return resultOf(opcode, known);
}

void KnownBranches::call(uint32_t function) {
    std::map<uint32_t, const Block*> ofCaller;
    ofCaller.swap(passed_);
    const Function& called = module_.functions.at(function);
    runs_.insert(called.blocks.front().label);
    std::vector<Known> returned;
    while (pass(called, &returned)) {
    }
    returned_[function] = common(returned);
    passed_.swap(ofCaller);
}

bool KnownBranches::pass(const Function& function, std::vector<Known>* returned) {
    passed_.clear();
    returned->clear();
    bool again = false;
    for (const Block& block : function.blocks) {
        if (runs(block.label)) {
            for (const Instruction instruction : block.body) {
                compute(block, instruction);
            }
            for (const uint32_t label : targets(block)) {
                const bool isNew = runs_.insert(label).second;
                again = again || (isNew && passed_.contains(label));
            }
            if (opcodeOf(block.end) == opReturnValue) {
                returned->push_back(value(block.end[1]));
            }
        }
        passed_[block.label] = &block;
    }
    return again;
}

void KnownBranches::compute(const Block& block, Instruction instruction) {
    const uint32_t opcode = opcodeOf(instruction);
    if (opcode == opFunctionCall && !isCalled(instruction[3])) {
        call(instruction[3]);
    }
    if (instruction.size() < 3 || !scalars_.contains(instruction[1])) {
        return;
    }
    if (opcode == opFunctionCall) {
        values_[instruction[2]] = returned_.at(instruction[3]);
    } else if (opcode == opPhi) {
        values_[instruction[2]] = phi(block, instruction);
    } else {
        values_[instruction[2]] = operation(opcode, instruction.subspan(3));
    }
}

Known KnownBranches::phi(const Block& block, Instruction instruction) const {
    std::vector<Known> incoming;
    for (size_t i = 3; i < instruction.size(); i += 2) {
        const auto from = passed_.find(instruction[i + 1]);
        if (from == passed_.end()) {
            return {}; // the back edge of a loop
        }
        if (leads(*from->second, block.label)) {
            incoming.push_back(value(instruction[i]));
        }
    }
    return common(incoming);
}

std::vector<uint32_t> KnownBranches::targets(const Block& block) const {
    if (const Known only = onlyTarget(block)) {
        return {*only};
    }
    const Instruction end = block.end;
    std::vector<uint32_t> all;
    switch (opcodeOf(end)) {
    case opBranch:
        all = {end[1]};
        break;
    case opBranchConditional:
        all = {end[2], end[3]};
        break;
    case opSwitch: // a default, then numbers and labels in turn
        for (size_t i = 2; i < end.size(); i += 2) {
            all.push_back(end[i]);
        }
        break;
    default:
        break;
    }
    return all;
}

} // namespace vkf
