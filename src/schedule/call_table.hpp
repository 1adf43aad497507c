// SPDX-License-Identifier: MIT
//
// The call table: how kernels find the optional inputs of a call (shaders/shared/call_table.h).
#pragma once

#include <cstdint>
#include <span>

#include "problem/problem.hpp"
#include "schedule/schedule.hpp"
#include "shared/call_table.h"

namespace vkf {

// Adds the phase that writes the table before all other phases, and reserves scratch memory for the table. Does nothing
// if the call needs no table.
void addTable(const CheckedProblem& problem, Schedule* schedule);

// Fills in the strides, in bits, and the repeats of the optional inputs that broadcast.
void addStrides(const VkfProblem& problem, shared::CallTable* table);

// Returns the address for the extra extraSlot of the push constants: the address of the table, or of the only optional
// input. `extraSlot` is VKF_EXTRA_SLOT_HAS_*.
uint64_t extraSlotAddress(uint32_t extraSlot, const shared::CallTable& table, uint64_t tableAddress);

// The words of a table that write_table.comp writes.
template <typename Table> std::span<const uint32_t> wordsOf(const Table& table) {
    static_assert(sizeof table % sizeof(uint32_t) == 0);
    return {reinterpret_cast<const uint32_t*>(&table), sizeof table / sizeof(uint32_t)};
}

// A table is written in pieces, one dispatch for each. tablePiece returns the push constants for one piece.
uint32_t tablePieces(std::span<const uint32_t> words);
shared::TablePiece tablePiece(std::span<const uint32_t> words, uint64_t tableAddress, uint32_t piece);

} // namespace vkf
