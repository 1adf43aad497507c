// SPDX-License-Identifier: MIT
#include "planning/packed_sequences.hpp"

#include <algorithm>

namespace vkf {
namespace {

constexpr uint32_t maxWorkgroups = 65535; // of one dispatch, on every device

} // namespace

Phase sequenceListPhase(const VkfProblem& problem) {
    Phase list;
    list.variant.kernel = Kernel::listSequences;
    list.items = std::min(problem.batch, maxWorkgroups);
    list.itemsPerStep = list.items;
    return list;
}

shared::SequenceList sequenceList(const VkfProblem& problem, const TileSequences& tileSequences, uint64_t starts,
                                  uint32_t count, uint64_t listAddress) {
    shared::SequenceList params{};
    params.starts = starts;
    params.tile_sequences = listAddress;
    params.sequences = problem.batch;
    params.tile_count = tileSequences.count;
    params.count = count;
    params.packed_heads = tileSequences.packedHeads;
    params.tile_rows = tileSequences.tileRows;
    return params;
}

} // namespace vkf
