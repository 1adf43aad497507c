// SPDX-License-Identifier: MIT
//
// Packed sequences: slots for the tiles of their rows, and the phase that says whose each slot is
// (shaders/common/packed_sequences.glsl).
#pragma once

#include <cstdint>

#include "problem/problem.hpp"
#include "schedule/schedule.hpp"
#include "shared/call_table.h"

namespace vkf {

// Of tiles of so many rows of so many packed heads.
uint64_t slotCount(const CheckedProblem& problem, uint32_t packedHeads, uint32_t tileRows);

// Puts the phase that lists the slots' sequences before the kernels of a schedule, and room for them behind the rest of
// the scratch. Nothing where sequences are not packed.
void addSequenceList(const CheckedProblem& problem, Schedule* schedule);

// Push constants of that phase's one dispatch, given the addresses of what it reads and writes.
shared::SequenceList sequenceList(const CheckedProblem& problem, const Slots& slots, uint64_t rowStarts,
                                  uint64_t listAddress);

} // namespace vkf
