// SPDX-License-Identifier: MIT
#include "pipelines/bfloat16_matrices.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "pipelines/spirv.hpp"

namespace vkf {
namespace {

// Numbers of the unified SPIR-V specification and of its extension SPV_KHR_bfloat16.
constexpr uint32_t float16Capability = 9;
constexpr uint32_t bfloat16TypeCapability = 5116;
constexpr uint32_t bfloat16MatrixCapability = 5118;
constexpr uint32_t bfloat16Encoding = 0;

constexpr std::array<uint32_t, 6> bfloat16Extension = {
    headOf(opExtension, 6), 0x5f565053, 0x5f52484b, 0x6f6c6662, 0x36317461, 0}; // "SPV_KHR_bfloat16"

// The word of an arithmetic instruction that holds its first operand. Type and result come before it, and in OpExtInst
// also the instruction set and the number of the instruction. 0 for any other instruction.
size_t firstOperand(uint32_t opcode) {
    if (opcode == opExtInst) {
        return 5;
    }
    return opcode >= opFNegate && opcode <= opVectorTimesScalar ? 3 : 0;
}

} // namespace

std::vector<uint32_t> withBfloat16Matrices(const std::vector<uint32_t>& module) {
    std::vector<uint32_t> made(module.begin(), module.begin() + spirvHeaderWords);
    const auto append = [&made](const auto& words) { made.insert(made.end(), words.begin(), words.end()); };
    bool extended = false;
    std::vector<uint32_t> halves; // types: fp16 and vectors of it
    const auto isHalf = [&halves](uint32_t type) {
        return std::find(halves.begin(), halves.end(), type) != halves.end();
    };
    forEachInstruction(std::span(module), [&](uint32_t opcode, std::span<const uint32_t> words) {
        if (opcode == opExtension && !extended) {
            append(bfloat16Extension);
            extended = true;
        }
        if (opcode == opCapability && words[1] == float16Capability) {
            append(std::array{words[0], bfloat16TypeCapability, words[0], bfloat16MatrixCapability});
        } else if (opcode == opTypeFloat && words[2] == 16) {
            append(std::array{headOf(opTypeFloat, 4), words[1], 16U, bfloat16Encoding});
            halves.push_back(words[1]);
        } else if (firstOperand(opcode) != 0 && isHalf(words[1])) {
            append(std::array{headOf(opCopyObject, 4), words[1], words[2], words[firstOperand(opcode)]});
        } else {
            append(words);
            if (opcode == opTypeVector && isHalf(words[2])) {
                halves.push_back(words[1]);
            }
        }
    });
    return made;
}

} // namespace vkf
