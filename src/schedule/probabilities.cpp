// SPDX-License-Identifier: MIT
#include "schedule/paths.hpp"

#include "tiles/probabilities_tile.hpp"

namespace vkf {
namespace {

// No memory is larger, and offsets of more bytes might not fit into 64 bits.
constexpr double mostProbabilityBytes = 0x1p62;

} // namespace

VkfResult scheduleProbabilities(const Caps& caps, const CheckedProblem& problem, ScheduleBuilder& builder,
                                VkfMessage* message) {
    const VkfProblem& p = problem.given;
    const bool writtenBySoftmax = builder.path() == VKF_PATH_STANDARD && !has(p, VKF_USE_PROBABILITY_ROWS);
    if (!has(p, VKF_USE_PROBABILITIES) || problem.empty || p.keys == 0 || writtenBySoftmax) {
        return VKF_SUCCESS;
    }
    const uint32_t rows = probabilityRows(p);
    if (static_cast<double>(builder.heads()) * rows * p.keys * sizeof(float) > mostProbabilityBytes) {
        return fail(message, VKF_ERROR_UNSUPPORTED, "the probabilities of all heads are over 2^62 bytes");
    }
    const ProbabilitiesTile tile = chooseProbabilitiesTile(caps, rows);
    if (tile.workgroupSize() == 0) {
        return fail(message, VKF_ERROR_UNSUPPORTED,
                    "probabilities need more than the device's %u bytes of shared memory", caps.maxSharedMemoryBytes);
    }
    Operand lse = Operand::lse;
    if (!has(p, VKF_USE_LSE)) {
        lse = Operand::scratchLse;
        builder.addScratchLse();
        builder.writeLse(lse);
    }
    builder.setPhaseTile(tile);
    const uint64_t rowTiles = (uint64_t{rows} + tile.rows() - 1) / tile.rows();
    const uint64_t keyTiles = (uint64_t{p.keys} + tile.keys() - 1) / tile.keys();
    const VkfResult result =
        builder.add(Kernel::attentionProbabilities,
                    {Operand::q, Operand::k, Operand::probabilities,
                     has(p, VKF_USE_PROBABILITY_ROWS) ? Operand::probabilityRows : Operand::none},
                    builder.heads() * rowTiles * keyTiles, 2.0 * tile.rows() * tile.keys() * p.headDim, message);
    if (result == VKF_SUCCESS) {
        Phase& phase = builder.lastPhase();
        phase.lse = lse;
        phase.variant.constants[VKF_ID_CHOSEN_ROWS] = has(p, VKF_USE_PROBABILITY_ROWS) ? 1 : 0;
        phase.variant.constants[VKF_ID_VALUE_DIM] = 0; // so that plans that differ in v alone share a pipeline
    }
    return result;
}

} // namespace vkf
