// SPDX-License-Identifier: MIT
//
// How to walk over a SPIR-V module. A module is a header and instructions, and each instruction begins with its length
// and its opcode (unified SPIR-V specification, section 2.3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace vkf {

// Numbers of the specification.
inline constexpr uint32_t opName = 5;
inline constexpr uint32_t opLine = 8;
inline constexpr uint32_t opExtension = 10;
inline constexpr uint32_t opExtInst = 12;
inline constexpr uint32_t opEntryPoint = 15;
inline constexpr uint32_t opCapability = 17;
inline constexpr uint32_t opTypeBool = 20;
inline constexpr uint32_t opTypeInt = 21;
inline constexpr uint32_t opTypeFloat = 22;
inline constexpr uint32_t opTypeVector = 23;
inline constexpr uint32_t opTypeArray = 28;
inline constexpr uint32_t opTypePointer = 32;
inline constexpr uint32_t opConstantTrue = 41;
inline constexpr uint32_t opConstantFalse = 42;
inline constexpr uint32_t opConstant = 43;
inline constexpr uint32_t opConstantComposite = 44;
inline constexpr uint32_t opSpecConstantTrue = 48;
inline constexpr uint32_t opSpecConstantFalse = 49;
inline constexpr uint32_t opSpecConstant = 50;
inline constexpr uint32_t opSpecConstantComposite = 51;
inline constexpr uint32_t opSpecConstantOp = 52;
inline constexpr uint32_t opFunction = 54;
inline constexpr uint32_t opFunctionEnd = 56;
inline constexpr uint32_t opFunctionCall = 57;
inline constexpr uint32_t opVariable = 59;
inline constexpr uint32_t opStore = 62;
inline constexpr uint32_t opCopyMemory = 63;
inline constexpr uint32_t opAccessChain = 65;
inline constexpr uint32_t opDecorate = 71;
inline constexpr uint32_t opCopyObject = 83;
inline constexpr uint32_t opConvertUToPtr = 120;
inline constexpr uint32_t opBitcast = 124;
inline constexpr uint32_t opSNegate = 126;
inline constexpr uint32_t opFNegate = 127;
inline constexpr uint32_t opIAdd = 128;
inline constexpr uint32_t opISub = 130;
inline constexpr uint32_t opIMul = 132;
inline constexpr uint32_t opUDiv = 134;
inline constexpr uint32_t opSDiv = 135;
inline constexpr uint32_t opUMod = 137;
inline constexpr uint32_t opVectorTimesScalar = 142;
inline constexpr uint32_t opLogicalEqual = 164;
inline constexpr uint32_t opLogicalNotEqual = 165;
inline constexpr uint32_t opLogicalOr = 166;
inline constexpr uint32_t opLogicalAnd = 167;
inline constexpr uint32_t opLogicalNot = 168;
inline constexpr uint32_t opSelect = 169;
inline constexpr uint32_t opIEqual = 170;
inline constexpr uint32_t opINotEqual = 171;
inline constexpr uint32_t opUGreaterThan = 172;
inline constexpr uint32_t opSGreaterThan = 173;
inline constexpr uint32_t opUGreaterThanEqual = 174;
inline constexpr uint32_t opSGreaterThanEqual = 175;
inline constexpr uint32_t opULessThan = 176;
inline constexpr uint32_t opSLessThan = 177;
inline constexpr uint32_t opULessThanEqual = 178;
inline constexpr uint32_t opSLessThanEqual = 179;
inline constexpr uint32_t opShiftRightLogical = 194;
inline constexpr uint32_t opShiftLeftLogical = 196;
inline constexpr uint32_t opBitwiseOr = 197;
inline constexpr uint32_t opBitwiseXor = 198;
inline constexpr uint32_t opBitwiseAnd = 199;
inline constexpr uint32_t opNot = 200;
inline constexpr uint32_t opControlBarrier = 224;
inline constexpr uint32_t opMemoryBarrier = 225;
inline constexpr uint32_t opAtomicStore = 228;
inline constexpr uint32_t opPhi = 245;
inline constexpr uint32_t opLoopMerge = 246;
inline constexpr uint32_t opSelectionMerge = 247;
inline constexpr uint32_t opLabel = 248;
inline constexpr uint32_t opBranch = 249;
inline constexpr uint32_t opBranchConditional = 250;
inline constexpr uint32_t opSwitch = 251;
inline constexpr uint32_t opReturn = 253;
inline constexpr uint32_t opReturnValue = 254;
inline constexpr uint32_t opUnreachable = 255;
inline constexpr uint32_t opCooperativeMatrixStore = 4458;
inline constexpr uint32_t specIdDecoration = 1;
inline constexpr uint32_t workgroupStorage = 4;

inline constexpr size_t spirvHeaderWords = 5;

using Instruction = std::span<const uint32_t>; // words[0] is its head

inline uint32_t opcodeOf(Instruction instruction) { return instruction[0] & 0xffffU; }
constexpr uint32_t headOf(uint32_t opcode, uint32_t words) { return words << 16 | opcode; }

inline constexpr uint32_t spirvMagic = 0x07230203;
inline constexpr uint32_t maxSpirvIds = 4194303; // universal limit of the specification, section 2.17

// Whether a module can be walked over: its header is one, and its instructions fill it. Whether it is valid in other
// ways is for the driver to find out.
inline bool isSpirv(std::span<const uint32_t> module) {
    if (module.size() < spirvHeaderWords || module[0] != spirvMagic || module[3] > maxSpirvIds) {
        return false;
    }
    size_t at = spirvHeaderWords;
    while (at < module.size()) {
        const uint32_t length = module[at] >> 16;
        if (length == 0 || length > module.size() - at) {
            return false;
        }
        at += length;
    }
    return true;
}

// Calls visit(opcode, words) for each instruction of a valid module, in order. words[0] is its head. visit may change
// the other words, unless Word is const.
template <typename Word, typename Visit> void forEachInstruction(std::span<Word> module, const Visit& visit) {
    uint32_t length = 0;
    for (size_t at = spirvHeaderWords; at < module.size(); at += length) {
        length = module[at] >> 16;
        visit(module[at] & 0xffffU, module.subspan(at, length));
    }
}

} // namespace vkf
