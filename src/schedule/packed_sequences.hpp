// SPDX-License-Identifier: MIT
//
// Packed sequences: the phase that writes which sequence each tile belongs to (shaders/common/packed_sequences.glsl).
#pragma once

#include <cstdint>

#include "problem/problem.hpp"
#include "schedule/schedule.hpp"
#include "shared/call_table.h"

namespace vkf {

// Adds the phase that writes the sequence of each tile before the phases so far, and reserves scratch memory for the
// list. Does nothing if sequences are not packed.
void addSequenceList(const CheckedProblem& problem, Schedule* schedule);

// Returns the phase that writes a list of tile sequences. The caller puts it before all phases that read the list.
Phase sequenceListPhase(const VkfProblem& problem);

// Returns the push constants of the one dispatch of that phase. It reads `starts`, the first row or key of each
// sequence, and writes the list to `listAddress`. `count` is the number of rows or keys of all sequences.
shared::SequenceList sequenceList(const VkfProblem& problem, const TileSequences& tileSequences, uint64_t starts,
                                  uint32_t count, uint64_t listAddress);

} // namespace vkf
