// SPDX-License-Identifier: MIT
//
// The arrays of attention that only some problems use: optional inputs, and two optional outputs. Bits of VkfUseBits
// enable them; problem/use.cpp checks the bits. One row of the table here says what all code that handles an array must
// know: its names, its size, its alignment, which bit enables it, and how kernels learn of it. Members of public
// structs come from VKF_FOR_EACH_OPTIONAL_INPUT and VKF_FOR_EACH_OPTIONAL_OUTPUT. docs/architecture.md lists all places
// that a new array touches.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <vkflash/problem.h>

#include "shared/call_table.h"

namespace vkf {

// Rows of the table: the values of VkfArray that attention has, which come first.
// NOLINTNEXTLINE(bugprone-macro-parentheses): a term of a sum
#define VKF_ONE_MORE(NAME, member) +1
inline constexpr size_t arrayCount =
    0 VKF_FOR_EACH_OPTIONAL_INPUT(VKF_ONE_MORE) VKF_FOR_EACH_OPTIONAL_OUTPUT(VKF_ONE_MORE);
#undef VKF_ONE_MORE

// A kernel learns of the array in another way than by a boolean constant.
inline constexpr uint32_t noConstant = UINT32_MAX;

// How the kernels find an input.
enum class PassedIn : uint32_t {
    operand,      // in a slot for tensors; each phase of a plan assigns its slots
    pushConstant, // in a push constant of its own
    extraSlot,    // in the extra slot of the push constants if no other input needs the slot, else in the call table
    callTable,    // always in the call table, because strides, lengths or the address of a map come with it
};

struct ArrayRow {
    VkfArray array;
    VkfUseBits bit;                      // of VkfProblem::use
    const char* bitName;                 // the name of its constant
    const char* name;                    // name in messages
    const char* described;               // the word for it in descriptions of problems; null: calls/describe.cpp has it
    uint32_t constant;                   // VKF_ID_* of the constant that is 1 if the problem has it, or noConstant
    uint64_t alignment;                  // alignment of the address, in bytes
    bool (*has)(const VkfProblem&);      // whether the problem has the input; kernels are specialized for the answer
    uint64_t (*size)(const VkfProblem&); // bytes that a call touches if the problem has the input; may be 0
    PassedIn passedIn;
    shared::Address shared::CallTable::*field; // null unless the input is passed in extraSlot or callTable
    VkfBroadcastArray VkfProblem::*broadcast; // where its strides are in the problem; null for an input without strides
    // Where its strides, in bits, are in the call table; null for an input without strides.
    shared::Address (shared::CallTable::*strides)[3];
    shared::Uint (shared::CallTable::*repeats)[2]; // where its numbers of sequences and heads are in the call table
    bool output;                                   // whether the call writes it
    bool backward;                                 // whether the forward call of a backward pass may have it
};

// Indexed by VkfArray. If several arrays are missing, messages name the first one in this order.
extern const std::array<ArrayRow, arrayCount> arrayTable;

// Returns the bytes of an input that a call touches. 0 if the problem does not have the input.
inline uint64_t bytesOf(const ArrayRow& row, const VkfProblem& problem) {
    return row.has(problem) ? row.size(problem) : 0;
}

// Returns what the extra slot of the push constants holds: VKF_EXTRA_SLOT_HAS_*.
uint32_t extraSlot(const VkfProblem& problem);

// Whether the extra slot can hold a bias without a table (VKF_EXTRA_SLOT_HAS_BIAS).
bool hasOnlySharedBias(const VkfProblem& problem);

// Whether the extra slot can hold a mask of the last keys without a table (VKF_EXTRA_SLOT_HAS_MASK).
bool hasOnlySquareMask(const VkfProblem& problem);

// Whether the extra slot can hold lists of chosen keys without a table (VKF_EXTRA_SLOT_HAS_CHOSEN_KEYS).
bool hasOnlyDenseLists(const VkfProblem& problem);

} // namespace vkf
