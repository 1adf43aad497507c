// SPDX-License-Identifier: MIT
//
// The loop order of FlashAttention's first version: a pass for each tile of keys, then the division by l.
#include "planning/build/build_parts.hpp"

#include <bit>

namespace vkf {
namespace {

// Invocations of a workgroup that divides rows; a row takes at most 64.
constexpr uint32_t finishWorkgroupSize = 128;

VkfResult buildPasses(const AttentionPhaseBuilder& builder, uint32_t keyTiles, AttentionPhases* phases,
                      VkfMessage* message) {
    const VkfProblem& p = builder.problem().fields;
    const TileShape& tile = builder.decision().tile;
    const double columns = static_cast<double>(p.headDim) + p.valueDim;
    Phase& passes = phases->attention.emplace_back();
    const VkfResult result = builder.make(
        Kernel::attentionScalar, builder.decision().constants, {Operand::q, Operand::k, Operand::v, Operand::scratch},
        builder.rowTiles() * keyTiles, 2.0 * tile.rows * tile.keys * columns, &passes, message);
    passes.rounds = keyTiles;
    passes.lse = Operand::scratchState;
    passes.variant.constants[VKF_ID_KEY_OUTER] = 1;
    passes.variant.constants[VKF_ID_SEQUENCES] = p.batch;
    passes.variant.constants[VKF_ID_TYPE_O] = VKF_STORED_F32;
    return result;
}

} // namespace

VkfResult buildKeyOuter(const AttentionPhaseBuilder& base, AttentionPhases* phases, Scratch* scratch,
                        VkfMessage* message) {
    AttentionPhaseBuilder builder = base;
    const VkfProblem& p = builder.problem().fields;
    const VkfTensorLayout outputs = scratchLayout(p, p.batch, p.valueDim);
    builder.setScratchLayout(outputs);
    scratch->reserve(ScratchRange::partialOutputs, outputs.elements * sizeof(float));
    scratch->reserve(ScratchRange::rowState, builder.rows() * 2 * sizeof(float), sizeof(float));
    const TileShape& tile = builder.decision().tile;
    const uint32_t keyTiles = (p.keys + tile.keys - 1) / tile.keys;
    if (keyTiles > 0) {
        if (const VkfResult result = buildPasses(builder, keyTiles, phases, message); result != VKF_SUCCESS) {
            return result;
        }
    }
    const uint32_t lanes = std::bit_ceil((p.valueDim + 3) / 4);
    const uint32_t rows = finishWorkgroupSize / lanes;
    Phase& finish = phases->finish.emplace();
    const VkfResult result =
        builder.make(Kernel::finishRows, {}, {Operand::scratch, Operand::scratchState, Operand::none, Operand::o},
                     (builder.rows() + rows - 1) / rows, 1.0 * rows * p.valueDim, &finish, message);
    finish.variant.constants[VKF_ID_WORKGROUP_SIZE] = finishWorkgroupSize;
    finish.variant.constants[VKF_ID_FINISH_LANES] = lanes;
    finish.variant.constants[VKF_ID_SEQUENCES] = p.batch;
    builder.writeLse(&finish);
    return result;
}

} // namespace vkf
