// SPDX-License-Identifier: MIT
#include "pipelines/constant_operations.hpp"

#include <algorithm>
#include <array>
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
    Known (*result)(uint32_t a, uint32_t b); // b is 0 if there is one operand
};

constexpr std::array operations = {
    Operation{opCopyObject, [](uint32_t a, uint32_t) -> Known { return a; }},
    Operation{opBitcast, [](uint32_t a, uint32_t) -> Known { return a; }},
    Operation{opSNegate, [](uint32_t a, uint32_t) -> Known { return 0U - a; }},
    Operation{opIAdd, [](uint32_t a, uint32_t b) -> Known { return a + b; }},
    Operation{opISub, [](uint32_t a, uint32_t b) -> Known { return a - b; }},
    Operation{opIMul, [](uint32_t a, uint32_t b) -> Known { return a * b; }},
    Operation{opUDiv, [](uint32_t a, uint32_t b) { return b == 0 ? Known() : a / b; }},
    Operation{opSDiv, [](uint32_t a, uint32_t b) { return b == 0 ? Known() : quotient(asSigned(a), asSigned(b)); }},
    Operation{opUMod, [](uint32_t a, uint32_t b) { return b == 0 ? Known() : a % b; }},
    Operation{opLogicalEqual, [](uint32_t a, uint32_t b) -> Known { return a == b; }},
    Operation{opLogicalNotEqual, [](uint32_t a, uint32_t b) -> Known { return a != b; }},
    Operation{opLogicalNot, [](uint32_t a, uint32_t) -> Known { return a == 0; }},
    Operation{opIEqual, [](uint32_t a, uint32_t b) -> Known { return a == b; }},
    Operation{opINotEqual, [](uint32_t a, uint32_t b) -> Known { return a != b; }},
    Operation{opUGreaterThan, [](uint32_t a, uint32_t b) -> Known { return a > b; }},
    Operation{opSGreaterThan, [](uint32_t a, uint32_t b) -> Known { return asSigned(a) > asSigned(b); }},
    Operation{opUGreaterThanEqual, [](uint32_t a, uint32_t b) -> Known { return a >= b; }},
    Operation{opSGreaterThanEqual, [](uint32_t a, uint32_t b) -> Known { return asSigned(a) >= asSigned(b); }},
    Operation{opULessThan, [](uint32_t a, uint32_t b) -> Known { return a < b; }},
    Operation{opSLessThan, [](uint32_t a, uint32_t b) -> Known { return asSigned(a) < asSigned(b); }},
    Operation{opULessThanEqual, [](uint32_t a, uint32_t b) -> Known { return a <= b; }},
    Operation{opSLessThanEqual, [](uint32_t a, uint32_t b) -> Known { return asSigned(a) <= asSigned(b); }},
    Operation{opShiftRightLogical, [](uint32_t a, uint32_t b) { return b > 31 ? Known() : a >> b; }},
    Operation{opShiftLeftLogical, [](uint32_t a, uint32_t b) { return b > 31 ? Known() : a << b; }},
    Operation{opBitwiseOr, [](uint32_t a, uint32_t b) -> Known { return a | b; }},
    Operation{opBitwiseXor, [](uint32_t a, uint32_t b) -> Known { return a ^ b; }},
    Operation{opBitwiseAnd, [](uint32_t a, uint32_t b) -> Known { return a & b; }},
    Operation{opNot, [](uint32_t a, uint32_t) -> Known { return ~a; }},
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
    return found->result(*operands[0], operands.size() == 2 ? *operands[1] : 0);
}

} // namespace vkf
