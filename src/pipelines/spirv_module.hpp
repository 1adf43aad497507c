// SPDX-License-Identifier: MIT
//
// A SPIR-V module in its parts: functions and their blocks.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "pipelines/spirv.hpp"

namespace vkf {

using Instruction = std::span<const uint32_t>; // words[0] is its head

inline uint32_t opcodeOf(Instruction instruction) { return instruction[0] & 0xffffU; }
constexpr uint32_t headOf(uint32_t opcode, uint32_t words) { return words << 16 | opcode; }

struct Block {
    uint32_t label = 0;
    std::vector<Instruction> body; // without the label, the merge instruction and the end
    Instruction merge;             // says where a selection or a loop ends; empty without one
    Instruction end;               // branches, or leaves the function
};

struct Function {
    std::vector<Instruction> head; // OpFunction and the parameters
    std::vector<Block> blocks;
};

// Points into the words that it was made from.
struct SpirvModule {
    std::vector<Instruction> globals; // all that stands before the functions
    std::vector<uint32_t> order;      // the ids of the functions
    std::map<uint32_t, Function> functions;

    explicit SpirvModule(Instruction words) {
        Function* function = nullptr;
        forEachInstruction(words, [&](uint32_t opcode, Instruction instruction) {
            if (opcode == opFunction) {
                order.push_back(instruction[2]);
                function = &functions[instruction[2]];
            }
            if (function == nullptr) {
                globals.push_back(instruction);
            } else if (opcode == opLabel) {
                function->blocks.emplace_back().label = instruction[1];
            } else if (function->blocks.empty()) {
                function->head.push_back(instruction);
            } else if (opcode != opFunctionEnd) {
                add(opcode, instruction, &function->blocks.back());
            }
        });
    }

private:
    static void add(uint32_t opcode, Instruction instruction, Block* block) {
        if (opcode == opLoopMerge || opcode == opSelectionMerge) {
            block->merge = instruction;
        } else if (opcode >= opBranch && opcode <= opUnreachable) {
            block->end = instruction;
        } else {
            block->body.push_back(instruction);
        }
    }
};

} // namespace vkf
