// SPDX-License-Identifier: MIT
//
// A SPIR-V module in its parts: functions and their blocks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pipelines/spirv.hpp"

namespace vkf {

// The id that an instruction in the head of a function or the body of a block defines, or 0. Its type stands before it.
uint32_t resultIdOf(Instruction instruction);

struct Block {
    uint32_t label = 0;
    std::span<const Instruction> body; // without the label, the merge instruction and the end
    Instruction merge;                 // says where a selection or a loop ends; empty without one
    Instruction end;                   // branches, or leaves the function
};

struct Function {
    uint32_t id = 0;
    std::span<const Instruction> head; // OpFunction and the parameters
    std::span<const Block> blocks;
};

// Points into the words that it was made from. Allocates a few times, however long the module is.
class SpirvModule {
public:
    explicit SpirvModule(Instruction words);
    SpirvModule(const SpirvModule&) = delete;
    SpirvModule& operator=(const SpirvModule&) = delete;

    uint32_t idBound() const { return idBound_; }                     // all ids are below
    std::span<const Instruction> globals() const { return globals_; } // all that stands before the functions
    std::span<const Function> functions() const { return functions_; }
    const Function& function(uint32_t id) const;

private:
    uint32_t idBound_;
    std::vector<Instruction> instructions_;
    std::vector<Block> blocks_;
    std::vector<Function> functions_;
    std::span<const Instruction> globals_;
};

} // namespace vkf
