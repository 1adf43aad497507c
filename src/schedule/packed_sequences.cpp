// SPDX-License-Identifier: MIT
#include "schedule/packed_sequences.hpp"

#include <algorithm>

namespace vkf {
namespace {

constexpr uint32_t mostWorkgroups = 65535; // every device takes so many in one dispatch

} // namespace

void addSequenceList(const CheckedProblem& problem, Schedule* schedule) {
    if (!has(problem.given, VKF_ARRAY_CU_SEQLENS) || schedule->phases.empty()) {
        return;
    }
    Slots& slots = schedule->slots;
    slots.packedHeads = schedule->phases.front().variant.constants[VKF_ID_PACKED_HEADS];
    slots.tileRows = schedule->tile.rows;
    slots.count = static_cast<uint32_t>(slotCount(problem.given, slots.packedHeads, slots.tileRows));
    slots.offset = schedule->reserveScratch(uint64_t{slots.count} * sizeof(uint32_t));
    Phase list;
    list.variant.kernel = Kernel::listSequences;
    list.items = std::min(problem.given.batch, mostWorkgroups);
    list.itemsPerStep = list.items;
    schedule->phases.insert(schedule->phases.begin(), list);
}

shared::SequenceList sequenceList(const CheckedProblem& problem, const Slots& slots, uint64_t rowStarts,
                                  uint64_t listAddress) {
    shared::SequenceList params{};
    params.row_starts = rowStarts;
    params.slots = listAddress;
    params.sequences = problem.given.batch;
    params.slot_count = slots.count;
    params.query_rows = problem.given.queryRows;
    params.packed_heads = slots.packedHeads;
    params.tile_rows = slots.tileRows;
    return params;
}

} // namespace vkf
