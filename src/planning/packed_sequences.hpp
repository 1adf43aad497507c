// SPDX-License-Identifier: MIT
//
// Packed sequences: the phase that writes which sequence each tile belongs to (shaders/common/item.glsl).
#pragma once

#include <cstdint>

#include "planning/phase.hpp"
#include "problem/problem.hpp"
#include "shared/call_table.h"

namespace vkf {

// Packed sequences have an entry for each tile of rows, or of keys (shaders/shared/work_items.h).
struct TileSequences {
    uint32_t count = 0;
    uint32_t packedHeads = 0;
    uint32_t tileRows = 0;
};

// Returns the phase that writes a list of tile sequences.
Phase sequenceListPhase(const VkfProblem& problem);

// Returns the push constants of the one dispatch of that phase. It reads `starts`, the first row or key of each
// sequence, and writes the list to `listAddress`. `count` is the number of rows or keys of all sequences.
shared::SequenceList sequenceList(const VkfProblem& problem, const TileSequences& tileSequences, uint64_t starts,
                                  uint32_t count, uint64_t listAddress);

} // namespace vkf
