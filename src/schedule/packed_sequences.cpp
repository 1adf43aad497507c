// SPDX-License-Identifier: MIT
#include "schedule/packed_sequences.hpp"

#include <algorithm>

namespace vkf {
namespace {

constexpr uint32_t mostWorkgroups = 65535; // every device takes so many in one dispatch

} // namespace

void addSequenceList(const CheckedProblem& problem, Schedule* schedule) {
    if (!has(problem.given, VKF_USE_CU_SEQLENS) || schedule->phases.empty()) {
        return;
    }
    TileSequences& tileSequences = schedule->tileSequences;
    tileSequences.packedHeads = schedule->phases.front().variant.constants[VKF_ID_PACKED_HEADS];
    tileSequences.tileRows = schedule->tile.rows;
    tileSequences.count =
        static_cast<uint32_t>(sequenceTileCount(problem.given, tileSequences.packedHeads, tileSequences.tileRows));
    tileSequences.offset = schedule->reserveScratch(uint64_t{tileSequences.count} * sizeof(uint32_t));
    schedule->phases.insert(schedule->phases.begin(), sequenceListPhase(problem.given));
}

Phase sequenceListPhase(const VkfProblem& problem) {
    Phase list;
    list.variant.kernel = Kernel::listSequences;
    list.items = std::min(problem.batch, mostWorkgroups);
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
