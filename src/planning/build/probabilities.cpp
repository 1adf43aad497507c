// SPDX-License-Identifier: MIT
//
// The phase that makes the probabilities from lse.
#include "planning/build/build_parts.hpp"

#include "base/message.hpp"
#include "planning/kernel_parameters.hpp"
#include "tiles/probabilities_tile.hpp"

namespace vkf {

VkfResult buildProbabilities(const AttentionPhaseBuilder& builder, AttentionPhases* phases, Scratch* scratch,
                             VkfMessage* message) {
    const VkfProblem& p = builder.problem().fields;
    const uint32_t rows = probabilityRows(p);
    const ProbabilitiesTile tile = chooseProbabilitiesTile(builder.caps(), rows);
    if (tile.workgroupSize() == 0) {
        return fail(message, VKF_ERROR_UNSUPPORTED,
                    "probabilities need more than the device's %u bytes of shared memory",
                    builder.caps().maxSharedMemoryBytes);
    }
    if (builder.decision().lse == Operand::scratchLse) {
        scratch->reserve(ScratchRange::lse, builder.rows() * sizeof(float), sizeof(float));
    }
    const bool chosenRows = has(p, VKF_USE_PROBABILITY_ROWS);
    const uint64_t rowTiles = (uint64_t{rows} + tile.rows() - 1) / tile.rows();
    const uint64_t keyTiles = (uint64_t{p.keys} + tile.keys() - 1) / tile.keys();
    Phase& phase = phases->probabilities.emplace();
    const VkfResult result = builder.make(
        Kernel::attentionProbabilities, tileConstants(tile),
        {Operand::q, Operand::k, Operand::probabilities, chosenRows ? Operand::probabilityRows : Operand::none},
        builder.heads() * rowTiles * keyTiles, 2.0 * tile.rows() * tile.keys() * p.headDim, &phase, message);
    phase.lse = builder.decision().lse;
    phase.variant.constants[VKF_ID_CHOSEN_ROWS] = chosenRows ? 1 : 0;
    phase.variant.constants[VKF_ID_VALUE_DIM] = 0; // so that plans that differ in v alone share a pipeline
    return result;
}

} // namespace vkf
