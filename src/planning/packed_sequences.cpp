// SPDX-License-Identifier: MIT
#include "planning/packed_sequences.hpp"

#include <algorithm>

namespace vkf {
namespace {

constexpr uint32_t mostWorkgroups = 65535; // every device takes so many in one dispatch

} // namespace

void addSequenceList(const CheckedProblem& problem, AttentionPlan* plan) {
    if (!has(problem.given, VKF_ARRAY_CU_SEQLENS) || plan->phases.empty()) {
        return;
    }
    Slots& slots = plan->slots;
    slots.packedHeads = plan->phases.front().variant.constants[VKF_ID_PACKED_HEADS];
    slots.tileRows = plan->tile.rows;
    slots.count = static_cast<uint32_t>(slotCount(problem.given, slots.packedHeads, slots.tileRows));
    slots.offset = plan->reserveScratch(uint64_t{slots.count} * sizeof(uint32_t));
    plan->phases.insert(plan->phases.begin(), sequenceListPhase(problem.given));
}

Phase sequenceListPhase(const VkfProblem& problem) {
    Phase list;
    list.variant.kernel = Kernel::listSequences;
    list.items = std::min(problem.batch, mostWorkgroups);
    list.itemsPerStep = list.items;
    return list;
}

shared::SequenceList sequenceList(const VkfProblem& problem, const Slots& slots, uint64_t starts, uint32_t count,
                                  uint64_t listAddress) {
    shared::SequenceList params{};
    params.starts = starts;
    params.slots = listAddress;
    params.sequences = problem.batch;
    params.slot_count = slots.count;
    params.count = count;
    params.packed_heads = slots.packedHeads;
    params.tile_rows = slots.tileRows;
    return params;
}

} // namespace vkf
