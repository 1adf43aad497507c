// SPDX-License-Identifier: MIT
#include "pipelines/constant_operations.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>

#include "pipelines/spirv.hpp"

namespace vkf {
namespace {

constexpr int32_t asSigned(uint32_t value) { return static_cast<int32_t>(value); }
constexpr uint32_t asBits(int32_t value) { return static_cast<uint32_t>(value); }

// b is not 0. The specification leaves the quotient of the smallest number and -1 undefined.
constexpr Known quotient(int32_t a, int32_t b) {
    return a == std::numeric_limits<int32_t>::min() && b == -1 ? Known() : asBits(a / b);
}

struct Operation {
    uint32_t opcode;
    size_t operands;
    Known (*result)(uint32_t a, uint32_t b); // b is 0 if there is one operand
};

constexpr std::array operations = {
    Operation{opCopyObject, 1, [](uint32_t a, uint32_t) -> Known { return a; }},
    Operation{opBitcast, 1, [](uint32_t a, uint32_t) -> Known { return a; }},
    Operation{opSNegate, 1, [](uint32_t a, uint32_t) -> Known { return 0U - a; }},
    Operation{opIAdd, 2, [](uint32_t a, uint32_t b) -> Known { return a + b; }},
    Operation{opISub, 2, [](uint32_t a, uint32_t b) -> Known { return a - b; }},
    Operation{opIMul, 2, [](uint32_t a, uint32_t b) -> Known { return a * b; }},
    Operation{opUDiv, 2, [](uint32_t a, uint32_t b) { return b == 0 ? Known() : a / b; }},
    Operation{opSDiv, 2, [](uint32_t a, uint32_t b) { return b == 0 ? Known() : quotient(asSigned(a), asSigned(b)); }},
    Operation{opUMod, 2, [](uint32_t a, uint32_t b) { return b == 0 ? Known() : a % b; }},
    Operation{opLogicalEqual, 2, [](uint32_t a, uint32_t b) -> Known { return a == b; }},
    Operation{opLogicalNotEqual, 2, [](uint32_t a, uint32_t b) -> Known { return a != b; }},
    Operation{opLogicalNot, 1, [](uint32_t a, uint32_t) -> Known { return a == 0; }},
    Operation{opIEqual, 2, [](uint32_t a, uint32_t b) -> Known { return a == b; }},
    Operation{opINotEqual, 2, [](uint32_t a, uint32_t b) -> Known { return a != b; }},
    Operation{opUGreaterThan, 2, [](uint32_t a, uint32_t b) -> Known { return a > b; }},
    Operation{opSGreaterThan, 2, [](uint32_t a, uint32_t b) -> Known { return asSigned(a) > asSigned(b); }},
    Operation{opUGreaterThanEqual, 2, [](uint32_t a, uint32_t b) -> Known { return a >= b; }},
    Operation{opSGreaterThanEqual, 2, [](uint32_t a, uint32_t b) -> Known { return asSigned(a) >= asSigned(b); }},
    Operation{opULessThan, 2, [](uint32_t a, uint32_t b) -> Known { return a < b; }},
    Operation{opSLessThan, 2, [](uint32_t a, uint32_t b) -> Known { return asSigned(a) < asSigned(b); }},
    Operation{opULessThanEqual, 2, [](uint32_t a, uint32_t b) -> Known { return a <= b; }},
    Operation{opSLessThanEqual, 2, [](uint32_t a, uint32_t b) -> Known { return asSigned(a) <= asSigned(b); }},
    Operation{opShiftRightLogical, 2, [](uint32_t a, uint32_t b) { return b > 31 ? Known() : a >> b; }},
    Operation{opShiftLeftLogical, 2, [](uint32_t a, uint32_t b) { return b > 31 ? Known() : a << b; }},
    Operation{opBitwiseOr, 2, [](uint32_t a, uint32_t b) -> Known { return a | b; }},
    Operation{opBitwiseXor, 2, [](uint32_t a, uint32_t b) -> Known { return a ^ b; }},
    Operation{opBitwiseAnd, 2, [](uint32_t a, uint32_t b) -> Known { return a & b; }},
    Operation{opNot, 1, [](uint32_t a, uint32_t) -> Known { return ~a; }},
};

// The result of "and" (`decides` = 0) and "or" (1), for which one operand can be enough.
Known decided(uint32_t decides, Known a, Known b) {
    if (a == decides || b == decides) {
        return decides;
    }
    return a && b ? Known(1U - decides) : Known();
}

} // namespace

Known resultOf(uint32_t opcode, std::span<const Known> operands) {
    if (opcode == opLogicalAnd || opcode == opLogicalOr) {
        return decided(opcode == opLogicalOr ? 1 : 0, operands[0], operands[1]);
    }
    if (opcode == opSelect) {
        return operands[0] ? operands[*operands[0] != 0 ? 1 : 2] : Known();
    }
    const auto* found = std::find_if(operations.begin(), operations.end(),
                                     [opcode](const Operation& operation) { return operation.opcode == opcode; });
    const auto known = [](const Known& operand) { return operand.has_value(); };
    if (found == operations.end() || !std::all_of(operands.begin(), operands.end(), known)) {
        return {};
    }
    return found->result(*operands[0], found->operands == 2 ? *operands[1] : 0);
}

} // namespace vkf
