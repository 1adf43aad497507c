// SPDX-License-Identifier: MIT
//
// Path standard: S = q k^T, the softmax of each row, o = P v.
#include "planning/build/build_parts.hpp"

#include "base/message.hpp"
#include "tiles/tile_problem.hpp"

namespace vkf {
namespace {

// No memory is larger, and offsets of more bytes of scores might not fit into 64 bits.
constexpr double maxScoreBytes = 0x1p62;

VkfResult makeScores(const AttentionPhaseBuilder& builder, Phase* scores, VkfMessage* message) {
    const VkfProblem& p = builder.problem().fields;
    const TileShape& tile = builder.decision().tile;
    const uint64_t keyTiles = (uint64_t{p.keys} + tile.keys - 1) / tile.keys;
    return builder.make(builder.decision().standard->scores, builder.decision().constants,
                        {Operand::q, Operand::k, Operand::none, Operand::scratch}, builder.rowTiles() * keyTiles,
                        2.0 * tile.rows * tile.keys * p.headDim, scores, message);
}

// One workgroup takes one row.
VkfResult makeSoftmax(const AttentionPhaseBuilder& builder, Phase* softmax, VkfMessage* message) {
    const VkfProblem& p = builder.problem().fields;
    const StandardKernels& kernels = *builder.decision().standard;
    const bool probabilities =
        has(p, VKF_USE_PROBABILITIES) && !has(p, VKF_USE_PROBABILITY_ROWS); // chosen rows have a phase of their own
    const VkfResult result = builder.make(Kernel::standardSoftmax, {},
                                          {Operand::none, Operand::scratchState,
                                           probabilities ? Operand::probabilities : Operand::none, Operand::scratch},
                                          builder.rows(), 8.0 * p.keys, softmax, message);
    Constants& constants = softmax->variant.constants;
    constants[VKF_ID_WORKGROUP_SIZE] = kernels.softmax.workgroupSize;
    constants[VKF_ID_ROW_WORDS] = kernels.softmax.rowWords;
    constants[VKF_ID_READER_ROWS] = builder.decision().tile.rows;
    constants[VKF_ID_READER_KEYS] = kernels.stepKeys;
    constants[VKF_ID_PROBABILITIES] = probabilities ? 1 : 0;
    constants[VKF_ID_TYPE_P] = kernels.typeOfP;
    constants[VKF_ID_TYPE_O] = 0; // so that plans that differ in the type of o alone share a pipeline
    builder.writeLse(softmax);
    return result;
}

VkfResult makeOutput(const AttentionPhaseBuilder& builder, Phase* output, VkfMessage* message) {
    const VkfProblem& p = builder.problem().fields;
    const double rows = builder.decision().tile.rows;
    const double keys = maxVisibleKeys(builder.problem(), builder.decision().tile.rows);
    const VkfResult result = builder.make(builder.decision().standard->output, builder.decision().constants,
                                          {Operand::scratch, Operand::scratchState, Operand::v, Operand::o},
                                          builder.rowTiles(), 2.0 * rows * keys * p.valueDim, output, message);
    Constants& constants = output->variant.constants;
    constants[VKF_ID_TYPE_P] = builder.decision().standard->typeOfP;
    constants[VKF_ID_TYPE_Q] = 0; // so that plans that differ in the type of q alone share a pipeline
    return result;
}

} // namespace

VkfResult buildStandard(const AttentionPhaseBuilder& base, AttentionPhases* phases, Scratch* scratch,
                        VkfMessage* message) {
    AttentionPhaseBuilder builder = base;
    const VkfProblem& p = builder.problem().fields;
    const StandardKernels& kernels = *builder.decision().standard;
    if (static_cast<double>(roundUp(p.queryRows, kernels.rowMultiple)) * static_cast<double>(builder.heads()) *
            static_cast<double>(roundUp(p.keys, kernels.columnMultiple)) * sizeof(float) >
        maxScoreBytes) {
        return fail(message, VKF_ERROR_UNSUPPORTED, "path standard: the scores of all heads are over 2^62 bytes");
    }
    const VkfTensorLayout scores = scratchLayout(p, p.batch, p.keys, kernels.rowMultiple, kernels.columnMultiple);
    builder.setScratchLayout(scores);
    scratch->reserve(ScratchRange::partialOutputs, scores.elements * sizeof(float));
    scratch->reserve(ScratchRange::rowState, builder.rows() * 2 * sizeof(float), sizeof(float));
    for (const auto make : {makeScores, makeSoftmax, makeOutput}) {
        if (const VkfResult result = make(builder, &phases->attention.emplace_back(), message); result != VKF_SUCCESS) {
            return result;
        }
    }
    return VKF_SUCCESS;
}

} // namespace vkf
