// SPDX-License-Identifier: MIT
//
// What a call brings beside its tensors, and how its kernels find it (shaders/shared/call_table.h).
#pragma once

#include <cstdint>

#include "problem/problem.hpp"
#include "schedule/schedule.hpp"
#include "shared/call_table.h"

namespace vkf {

// Puts the phase that writes the table before all others, and its room behind the rest of the scratch. Nothing where
// the call needs no table.
void addTable(const CheckedProblem& problem, Schedule* schedule);

// Fills in the strides of the inputs that broadcast.
void addStrides(const VkfProblem& problem, shared::CallTable* table);

// The address in the slot of the window: the table's, or the only one in `table`. `slot` is VKF_SLOT_HAS_*.
uint64_t slotAddress(uint32_t slot, const shared::CallTable& table, uint64_t tableAddress);

// Push constants of the dispatch that writes a piece of the table to its address.
uint32_t tablePieces();
shared::TablePiece tablePiece(const shared::CallTable& table, uint64_t tableAddress, uint32_t piece);

} // namespace vkf
