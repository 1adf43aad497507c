// SPDX-License-Identifier: MIT
//
// Packed sequences: the phase that writes which sequence each slot belongs to (shaders/common/packed_sequences.glsl).
#pragma once

#include <cstdint>

#include "problem/problem.hpp"
#include "schedule/schedule.hpp"
#include "shared/call_table.h"

namespace vkf {

// Adds the phase that writes the sequence of each slot before the phases so far, and reserves scratch memory for the
// list. Does nothing if sequences are not packed.
void addSequenceList(const CheckedProblem& problem, Schedule* schedule);

// Returns the push constants of the one dispatch of that phase, which reads `rowStarts` and writes the list to
// `listAddress`.
shared::SequenceList sequenceList(const CheckedProblem& problem, const Slots& slots, uint64_t rowStarts,
                                  uint64_t listAddress);

} // namespace vkf
