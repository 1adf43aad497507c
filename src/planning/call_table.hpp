// SPDX-License-Identifier: MIT
//
// The call table: how kernels find the optional inputs of a call (shaders/shared/call_table.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "planning/phase.hpp"
#include "problem/problem.hpp"
#include "shared/call_table.h"

namespace vkf {

// Returns the phase that writes the table.
Phase tablePhase();

// Fills in the strides, in bits, and the repeats of the optional inputs that broadcast.
void addStrides(const VkfProblem& problem, shared::CallTable* table);

// Returns the address for the extra slot of the push constants: the address of the table, or of the only optional
// input. `extraSlot` is VKF_EXTRA_SLOT_HAS_*.
uint64_t extraSlotAddress(uint32_t extraSlot, const shared::CallTable& table, uint64_t tableAddress);

// The uint32 words of a table that write_table.comp writes.
template <typename Table> std::span<const uint32_t> wordsOf(const Table& table) {
    static_assert(sizeof table % sizeof(uint32_t) == 0);
    return {reinterpret_cast<const uint32_t*>(&table), sizeof table / sizeof(uint32_t)};
}

// The first word of a table that a call needs. Without rare inputs two dispatches write a table, and not three.
inline size_t firstUsedWord(const shared::CallTable& table) {
    const bool hasRareInputs = table.chosen_keys != 0 || table.kv_scales != 0;
    return hasRareInputs ? 0 : offsetof(shared::CallTable, block_mask) / sizeof(uint32_t);
}
template <typename Table> size_t firstUsedWord(const Table& table) { return firstUsedWord(table.call); }

// A table with the arrays of functions before it.
template <typename Table> struct TableWithArrays {
    shared::FunctionArrays arrays;
    Table table;
};

// Bytes before the table of a call.
inline uint64_t bytesBeforeTable(const VkfProblem& p) {
    return functionArrayCount(p) != 0 ? sizeof(shared::FunctionArrays) : 0;
}

// A table is written in batches of words, one dispatch for each. tableBatch returns the push constants for one batch.
uint32_t tableBatches(std::span<const uint32_t> words);
shared::TableBatch tableBatch(std::span<const uint32_t> words, uint64_t tableAddress, uint32_t batch);

} // namespace vkf
