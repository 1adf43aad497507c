// SPDX-License-Identifier: MIT
#include "schedule/paths.hpp"

#include <bit>

#include "schedule/counts.hpp"
#include "tiles/merge_tile.hpp"
#include "tiles/tile_problem.hpp"

namespace vkf {
namespace {

constexpr uint32_t widePieceLanes = 16; // of one piece of a row that is too wide for mostMergeLanes

// Adds the phase that merges the partial results in scratch memory.
VkfResult scheduleMerge(const Caps& caps, uint32_t splits, const CheckedProblem& problem, ScheduleBuilder& builder,
                        VkfMessage* message) {
    const VkfProblem& p = problem.given;
    // Wide rows are merged in pieces. Problems with wide rows have few heads, and merging each row in one piece would
    // make too few workgroups.
    const uint32_t words = (p.valueDim + 3) / 4;
    const uint32_t lanes = std::bit_ceil(words) > mostMergeLanes ? widePieceLanes : std::bit_ceil(words);
    const uint64_t pieces = builder.heads() * p.queryRows * tilesOf(words, lanes);
    if (pieces > mostCount) { // the kernel counts them
        return fail(
            message, VKF_ERROR_UNSUPPORTED,
            "with valueDim %u and key splits, queryHeads * queryRows of all sequences is over the limit of %llu",
            p.valueDim, static_cast<unsigned long long>(mostCount / tilesOf(words, lanes)));
    }
    const MergeTile tile = chooseMergeTile(splits, lanes, caps.maxInvocations);
    const VkfResult result =
        builder.add(Kernel::mergeSplits, {Operand::scratch, Operand::scratchState, Operand::none, Operand::o},
                    tilesOf(pieces, tile.rows), 4.0 * tile.rows * splits * p.valueDim, message);
    if (result == VKF_SUCCESS) {
        Phase& merge = builder.lastPhase();
        merge.lse = has(p, VKF_USE_LSE) ? Operand::lse : Operand::none;
        Constants& constants = merge.variant.constants;
        tile.setConstants(constants);
        constants[VKF_MERGE_ID_TYPE_O] = static_cast<uint32_t>(p.o.type);
        constants[VKF_MERGE_ID_LSE] = has(p, VKF_USE_LSE) ? 1 : 0;
        constants[VKF_MERGE_ID_DIM] = p.valueDim;
        constants[VKF_MERGE_ID_KEY_SPLITS] = splits;
        constants[VKF_MERGE_ID_SINKS] = has(p, VKF_USE_SINKS) ? 1 : 0;
        constants[VKF_MERGE_ID_NATURAL] = has(p, VKF_USE_BIAS) ? 1 : 0;
    }
    return result;
}

// Adds the phase of attention whose keys are not split.
VkfResult scheduleUnsplit(Kernel kernel, const CheckedProblem& problem, ScheduleBuilder& builder, VkfMessage* message) {
    const VkfResult result = builder.add(kernel, builder.attentionOperands(Operand::o), builder.rowTiles(),
                                         tileOperations(problem, builder.tile().rows), message);
    if (result == VKF_SUCCESS) {
        builder.lastPhase().lse = has(problem.given, VKF_USE_LSE) ? Operand::lse : Operand::none;
    }
    return result;
}

// Adds two phases: one makes a partial result (o, m, l) for each key split, the other merges them.
VkfResult scheduleSplits(const Caps& caps, Kernel kernel, uint32_t splits, const CheckedProblem& problem,
                         ScheduleBuilder& builder, VkfMessage* message) {
    const VkfProblem& p = problem.given;
    if (const VkfResult result = checkRowCount(problem, splits, message); result != VKF_SUCCESS) {
        return result;
    }
    builder.setScratch(scratchLayout(p, tensorSequences(p) * splits, p.valueDim)); // partial results of o
    builder.addScratchState(splits);
    builder.setSplits(splits);
    const VkfResult result =
        builder.add(kernel, builder.attentionOperands(Operand::scratch), builder.rowTiles() * splits,
                    tileOperations(problem, builder.tile().rows) / splits, message);
    if (result != VKF_SUCCESS) {
        return result;
    }
    Phase& attention = builder.lastPhase();
    attention.lse = Operand::scratchState;
    attention.variant.constants[VKF_ID_KEY_SPLITS] = splits;
    attention.variant.constants[VKF_ID_TYPE_O] = VKF_STORED_F32;
    attention.variant.constants[VKF_ID_LSE] = 1;

    return scheduleMerge(caps, splits, problem, builder, message);
}

} // namespace

VkfResult scheduleFused(const Caps& caps, Kernel kernel, uint32_t splits, const CheckedProblem& problem,
                        ScheduleBuilder& builder, VkfMessage* message) {
    if (problem.empty) {
        return VKF_SUCCESS;
    }
    return splits > 1 ? scheduleSplits(caps, kernel, splits, problem, builder, message)
                      : scheduleUnsplit(kernel, problem, builder, message);
}

} // namespace vkf
