// SPDX-License-Identifier: MIT
//
// What instructions of SPIR-V make of constants.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace vkf {

// A 32-bit integer or a boolean (0 or 1); empty where it is not known before the shader runs.
using Known = std::optional<uint32_t>;

// Returns the result of an instruction. Nothing, if an operand that matters is not known, if the specification leaves
// the result undefined (a division by 0), or if the instruction is not among those that kernels compute conditions
// with.
Known resultOf(uint32_t opcode, std::span<const Known> operands);

} // namespace vkf
