// SPDX-License-Identifier: MIT
//
// Which blocks of a SPIR-V module can run, once its specialization constants are known.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pipelines/constant_operations.hpp"
#include "pipelines/spirv_module.hpp"

namespace vkf {

// Walks through the functions that the entry point reaches, and takes a branch only if its condition may hold.
// Conditions are known where they follow from constants, through integer arithmetic, joined paths, and functions that
// return the same in every call. Values of variables are not followed.
class KnownBranches {
public:
    // The module must stay as it is meanwhile. Specialization constants beyond `constants` have their default.
    KnownBranches(const SpirvModule& module, std::span<const uint32_t> constants);

    bool isCalled(uint32_t function) const { return called_[function]; }
    bool runs(uint32_t label) const { return runs_[label]; }
    // The value of a constant or result that is a boolean or a 32-bit integer.
    Known value(uint32_t id) const { return id < values_.size() ? values_[id] : Known(); }
    // The value of the specialization constant `id`, which is `byDefault` if nothing sets it.
    uint32_t constantOf(uint32_t id, uint32_t byDefault) const;
    // The block to which a conditional branch always leads, or nothing.
    Known onlyTarget(const Block& block) const;
    // Whether control can pass from one block to the other.
    bool leads(const Block& from, uint32_t label) const;

private:
    void readGlobal(Instruction instruction);
    Known constant(uint32_t opcode, Instruction instruction) const;
    Known operation(uint32_t opcode, Instruction operands) const;
    void call(const Function& function);
    // Passes over the blocks once. True if a block that it had passed turned out to run.
    bool pass(const Function& function);
    void compute(const Block& block, Instruction instruction);
    Known phi(const Block& block, Instruction instruction) const;

    const SpirvModule& module_;
    std::span<const uint32_t> constants_;
    // By id:
    std::vector<Known> values_;        // of a constant or result; of a function, what every call returns
    std::vector<Known> specIds_;       // the number of a specialization constant
    std::vector<const Block*> passed_; // the block of a label, once the walk has passed it
    std::vector<bool> scalars_;        // types: booleans and 32-bit integers
    std::vector<bool> called_;         // functions
    std::vector<bool> runs_;           // labels
};

} // namespace vkf
