// SPDX-License-Identifier: MIT
//
// Paths scalar, coopmat, wgmma and decode: one phase of attention, and another one that merges key splits if there are
// any.
#include "planning/build/build_parts.hpp"

#include <bit>

#include "base/message.hpp"
#include "planning/counts.hpp"
#include "planning/kernel_parameters.hpp"
#include "tiles/merge_tile.hpp"
#include "tiles/tile_problem.hpp"

namespace vkf {
namespace {

constexpr uint32_t widePieceLanes = 16; // of one piece of a row that is too wide for maxMergeLanes

VkfResult buildMerge(const AttentionPhaseBuilder& builder, AttentionPhases* phases, VkfMessage* message) {
    const VkfProblem& p = builder.problem().fields;
    const uint32_t splits = builder.decision().splits;
    // Wide rows are merged in pieces. Problems with wide rows have few heads, and merging each row in one piece would
    // make too few workgroups.
    const uint32_t words = (p.valueDim + 3) / 4;
    const uint32_t lanes = std::bit_ceil(words) > maxMergeLanes ? widePieceLanes : std::bit_ceil(words);
    const uint64_t pieces = builder.rows() * tilesOf(words, lanes);
    if (pieces > maxCount) { // the kernel counts them
        return fail(
            message, VKF_ERROR_UNSUPPORTED,
            "with valueDim %u and key splits, queryHeads * queryRows of all sequences is over the limit of %llu",
            p.valueDim, static_cast<unsigned long long>(maxCount / tilesOf(words, lanes)));
    }
    // The order of the sums depends on the tile, and must not depend on the most keys of a call with splitKeys.
    constexpr uint32_t splitsOfFixedOrder = 32;
    const MergeTile tile = chooseMergeTile(p.splitKeys != 0 ? splitsOfFixedOrder : splits, lanes, builder.caps());
    Phase& merge = phases->finish.emplace();
    const VkfResult result =
        builder.make(Kernel::mergeSplits, {}, {Operand::scratch, Operand::scratchState, Operand::none, Operand::o},
                     tilesOf(pieces, tile.rows), 4.0 * tile.rows * splits * p.valueDim, &merge, message);
    if (result == VKF_SUCCESS) {
        Constants& constants = merge.variant.constants;
        tile.setConstants(constants);
        constants[VKF_MERGE_ID_TYPE_O] = static_cast<uint32_t>(p.o.type);
        constants[VKF_MERGE_ID_DIM] = p.valueDim;
        constants[VKF_MERGE_ID_KEY_SPLITS] = splits;
        constants[VKF_MERGE_ID_FIXED_ORDER] = p.splitKeys != 0 ? 1 : 0;
        constants[VKF_MERGE_ID_SINKS] = has(p, VKF_USE_SINKS) ? 1 : 0;
        constants[VKF_MERGE_ID_BASE_E] = hasNaturalScores(p) ? 1 : 0;
        builder.writeLse(&merge);
    }
    return result;
}

// Makes the phase of attention, whose workgroups write to `output`.
VkfResult makeAttention(const AttentionPhaseBuilder& builder, Operand output, Phase* attention, VkfMessage* message) {
    const Decision& decision = builder.decision();
    const VkfResult result = builder.make(
        decision.kernel, decision.constants, builder.attentionOperands(output), builder.rowTiles() * decision.splits,
        tileOperations(builder.problem(), decision.tile.rows) / decision.splits, attention, message);
    attention->variant.constants[VKF_ID_INTERLEAVED_HEADS] = decision.interleavedHeads;
    return result;
}

VkfResult buildUnsplit(const AttentionPhaseBuilder& builder, AttentionPhases* phases, VkfMessage* message) {
    Phase& attention = phases->attention.emplace_back();
    const VkfResult result = makeAttention(builder, Operand::o, &attention, message);
    builder.writeLse(&attention);
    return result;
}

// Adds two phases: one makes a partial result (o, m, l) for each key split, the other merges them.
VkfResult buildSplits(AttentionPhaseBuilder builder, AttentionPhases* phases, Scratch* scratch, VkfMessage* message) {
    const VkfProblem& p = builder.problem().fields;
    const uint32_t splits = builder.decision().splits;
    if (const VkfResult result = checkRowCount(builder.problem(), splits, message); result != VKF_SUCCESS) {
        return result;
    }
    const VkfTensorLayout outputs = scratchLayout(p, tensorSequences(p) * splits, p.valueDim);
    builder.setScratchLayout(outputs);
    scratch->reserve(ScratchRange::partialOutputs, outputs.elements * sizeof(float));
    scratch->reserve(ScratchRange::rowState, builder.rows() * splits * 2 * sizeof(float), sizeof(float));
    Phase& attention = phases->attention.emplace_back();
    if (const VkfResult result = makeAttention(builder, Operand::scratch, &attention, message); result != VKF_SUCCESS) {
        return result;
    }
    attention.lse = Operand::scratchState;
    attention.variant.constants[VKF_ID_KEY_SPLITS] = splits;
    attention.variant.constants[VKF_ID_SPLIT_TILES] =
        p.splitKeys != 0 ? splitTiles(p, builder.decision().tile.keys) : 0;
    attention.variant.constants[VKF_ID_TYPE_O] = VKF_STORED_F32;
    attention.variant.constants[VKF_ID_LSE] = 1;
    return buildMerge(builder, phases, message);
}

} // namespace

VkfResult buildFused(const AttentionPhaseBuilder& builder, AttentionPhases* phases, Scratch* scratch,
                     VkfMessage* message) {
    return builder.decision().splits > 1 ? buildSplits(builder, phases, scratch, message)
                                         : buildUnsplit(builder, phases, message);
}

VkfResult buildFallback(const AttentionPhaseBuilder& builder, AttentionPhases* phases, VkfMessage* message) {
    const ScalarTile& tile = *builder.decision().fallback;
    if (tile.workgroupSize() == 0) {
        return fail(message, VKF_ERROR_UNSUPPORTED,
                    "path coopmat: the kernel of path scalar needs more than the "
                    "device's %u bytes of shared memory",
                    builder.caps().maxSharedMemoryBytes);
    }
    Phase& fallback = phases->fallback.emplace();
    const VkfResult result = builder.make(Kernel::attentionScalarFallback, tileConstants(tile),
                                          {Operand::q, Operand::k, Operand::v, Operand::o},
                                          tilesOfRows(builder.problem(), 1, tile.rows()) * builder.heads(),
                                          tileOperations(builder.problem(), tile.rows()), &fallback, message);
    builder.writeLse(&fallback);
    return result;
}

} // namespace vkf
