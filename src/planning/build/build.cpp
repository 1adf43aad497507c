// SPDX-License-Identifier: MIT
#include "planning/build/build.hpp"

#include <optional>
#include <utility>
#include <vector>

#include "planning/build/build_parts.hpp"
#include "planning/call_table.hpp"
#include "planning/counts.hpp"
#include "shared/constant_ids.h"

namespace vkf {
namespace {

VkfResult buildPath(const AttentionPhaseBuilder& builder, AttentionPhases* phases, Scratch* scratch,
                    VkfMessage* message) {
    switch (builder.decision().path) {
    case VKF_PATH_STANDARD:
        return buildStandard(builder, phases, scratch, message);
    case VKF_PATH_KEY_OUTER:
        return buildKeyOuter(builder, phases, scratch, message);
    default:
        return buildFused(builder, phases, scratch, message);
    }
}

// Adds all phases that can fail.
VkfResult buildPhases(const AttentionPhaseBuilder& builder, AttentionPhases* phases, AttentionPlan* plan,
                      VkfMessage* message) {
    const Decision& decision = builder.decision();
    Scratch* const scratch = &plan->scratch;
    VkfResult result = buildPath(builder, phases, scratch, message);
    if (result == VKF_SUCCESS && decision.fallback) {
        result = buildFallback(builder, phases, message);
    }
    if (result == VKF_SUCCESS && decision.probabilities) {
        result = buildProbabilities(builder, phases, scratch, message);
    }
    if (result == VKF_SUCCESS && decision.map) {
        plan->tileMap = buildTileMap(builder, phases);
        if (!has(builder.problem().fields, VKF_USE_TILE_MAP)) {
            scratch->reserve(ScratchRange::tileMap, plan->tileMap.bytes);
        }
    }
    if (result == VKF_SUCCESS && decision.dequantizedKeys) {
        result = buildDequantizedKeys(builder, phases, scratch, message);
    }
    return result;
}

void buildSequenceList(const VkfProblem& p, AttentionPlan* plan, AttentionPhases* phases) {
    const SequenceTiles tiles = sequenceTiles(p, plan->packedHeads, plan->tile.rows);
    plan->tileSequences.packedHeads = tiles.packedHeads;
    plan->tileSequences.tileRows = tiles.tileRows;
    plan->tileSequences.count = static_cast<uint32_t>(sequenceTileCount(p, tiles.packedHeads, tiles.tileRows));
    plan->scratch.reserve(ScratchRange::rowSequences, uint64_t{plan->tileSequences.count} * sizeof(uint32_t));
    phases->sequences = sequenceListPhase(p);
}

void buildTable(const VkfProblem& p, AttentionPlan* plan, AttentionPhases* phases) {
    const uint64_t bytes = plan->bf16x3 ? sizeof(shared::Bf16x3Table) : sizeof(shared::CallTable);
    plan->scratch.reserve(ScratchRange::table, bytesBeforeTable(p) + bytes, scratchAlignment, bytesBeforeTable(p));
    phases->table = tablePhase();
}

// Takes the phases that make the map away from the call. The table is written for both.
std::vector<Phase> takeMapPhases(AttentionPhases* phases) {
    AttentionPhases ofMap;
    ofMap.table = phases->table;
    ofMap.tileMap = std::exchange(phases->tileMap, std::nullopt);
    ofMap.tileOrder = std::exchange(phases->tileOrder, std::nullopt);
    return inOrder(std::move(ofMap));
}

} // namespace

VkfResult build(const Caps& caps, const CheckedProblem& problem, AttentionPlan* plan, VkfMessage* message) {
    if (problem.empty) {
        return VKF_SUCCESS;
    }
    AttentionPhases phases;
    const AttentionPhaseBuilder builder(caps, problem, *plan);
    if (const VkfResult result = buildPhases(builder, &phases, plan, message); result != VKF_SUCCESS) {
        return result;
    }
    if (has(problem.fields, VKF_USE_CU_SEQLENS)) {
        buildSequenceList(problem.fields, plan, &phases);
    }
    if (plan->extraSlot == VKF_EXTRA_SLOT_HAS_TABLE) {
        buildTable(problem.fields, plan, &phases);
    }
    if (plan->map && has(problem.fields, VKF_USE_TILE_MAP)) {
        plan->mapPhases = takeMapPhases(&phases);
    }
    plan->phases = inOrder(std::move(phases));
    const VkfResult result = checkStepCount(plan->phases, message);
    return result == VKF_SUCCESS ? checkStepCount(plan->mapPhases, message) : result;
}

std::vector<Phase> inOrder(AttentionPhases&& phases) {
    std::vector<Phase> all;
    const auto add = [&all](std::optional<Phase>& phase) {
        if (phase) {
            all.push_back(*phase);
        }
    };
    add(phases.table);
    add(phases.sequences);
    add(phases.dequantizeKeys);
    if (phases.tileMap) {
        phases.tileMap->barrierBefore = !phases.dequantizeKeys; // the map reads no keys
    }
    add(phases.tileMap);
    add(phases.tileOrder);
    all.insert(all.end(), phases.attention.begin(), phases.attention.end());
    add(phases.finish);
    add(phases.fallback);
    add(phases.probabilities);
    return all;
}

} // namespace vkf
