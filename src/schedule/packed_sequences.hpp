// SPDX-License-Identifier: MIT
//
// Packed sequences: the phase that writes which sequence each slot belongs to (shaders/common/packed_sequences.glsl).
#pragma once

#include <cstdint>

#include "problem/problem.hpp"
#include "schedule/schedule.hpp"
#include "shared/call_table.h"

namespace vkf {

// Puts the phase that lists the slots' sequences before the kernels of a schedule, and room for them behind the rest of
// the scratch. Nothing where sequences are not packed.
void addSequenceList(const CheckedProblem& problem, Schedule* schedule);

// Push constants of that phase's one dispatch, given the addresses of what it reads and writes.
shared::SequenceList sequenceList(const CheckedProblem& problem, const Slots& slots, uint64_t rowStarts,
                                  uint64_t listAddress);

} // namespace vkf
