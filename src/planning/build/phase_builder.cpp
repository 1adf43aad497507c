// SPDX-License-Identifier: MIT
#include "planning/build/phase_builder.hpp"

#include <algorithm>

#include "planning/counts.hpp"
#include "planning/item_steps.hpp"
#include "planning/kernel_parameters.hpp"
#include "tiles/tile_problem.hpp"

namespace vkf {
namespace {

// k and v have the type of the matrices and no pages.
void setDequantizedConstants(VkfType type, Constants* constants) {
    (*constants)[VKF_ID_TYPE_K] = static_cast<uint32_t>(type);
    (*constants)[VKF_ID_TYPE_V] = static_cast<uint32_t>(type);
    for (const size_t ofPages : {size_t{VKF_ID_PAGE_ROWS}, size_t{VKF_ID_MAX_PAGES}, size_t{VKF_ID_PAGES}}) {
        (*constants)[ofPages] = 0;
    }
}

} // namespace

VkfResult PhaseBuilder::make(Kernel kernel, const Constants& constants, const std::array<Operand, 4>& operands,
                             uint64_t items, double operations, Phase* phase, VkfMessage* message) const {
    if (const VkfResult result = checkItemCount(items, message); result != VKF_SUCCESS) {
        return result;
    }
    std::array<ByteStrides, 4> strides{};
    for (size_t i = 0; i < operands.size(); i++) {
        strides[i] = operandStrides(operands[i]);
    }
    uint32_t shift = 0;
    if (const VkfResult result = chooseStrideShift(strides, &shift, message); result != VKF_SUCCESS) {
        return result;
    }
    Phase made;
    made.operands = operands;
    made.params = baseParams(problem_, strides, shift);
    const KernelTraits& traits = traitsOf(kernel);
    const bool has16Bits = std::any_of(operands.begin(), operands.end(), [this](Operand operand) {
        const VkfTensorLayout* layout = tensorOf(operand);
        return layout != nullptr && layout->type != VKF_TYPE_F32;
    });
    Variant& variant = made.variant;
    variant.kernel = kernel;
    variant.storage16 = isTaken(traits.storage16, has16Bits && caps_.storage16());
    variant.rolled = keepsLoops(traits, caps_.quirks);
    variant.bf16 = traits.matrices && decision_.matrixElements == VKF_TYPE_BF16;
    variant.viaShared = isTaken(traits.viaShared, decision_.matrix.viaShared);
    variant.subgroups = isTaken(traits.subgroups, caps_.subgroupReductions());
    variant.subgroupSize = variant.subgroups ? caps_.subgroupSize : 0;
    if (traits.constants == ConstantFamily::tile || traits.constants == ConstantFamily::problem) {
        variant.constants = constantsOf(problem_, constants, shift);
        if (operands[VKF_K] == Operand::dequantizedK) {
            setDequantizedConstants(decision_.productType, &variant.constants);
        }
        if (decision_.bf16x3) {
            setExtraSlotToTable(problem_, variant.constants);
        }
    }
    made.items = static_cast<uint32_t>(items);
    made.itemsPerStep = itemsOfStep(stepOperations(kernel), operations, caps_.maxGroupCount);
    *phase = made;
    return VKF_SUCCESS;
}

void PhaseBuilder::writeLse(Phase* phase) const {
    const bool merges = traitsOf(phase->variant.kernel).constants == ConstantFamily::merge;
    phase->lse = decision_.lse;
    phase->variant.constants[merges ? VKF_MERGE_ID_LSE : VKF_ID_LSE] = decision_.lse != Operand::none ? 1 : 0;
}

uint64_t PhaseBuilder::rowTiles() const {
    const uint32_t packed = decision_.packedHeads;
    return tilesOfRows(problem_, packed, decision_.tile.rows) * (heads() / packed);
}

double PhaseBuilder::stepOperations(Kernel kernel) const {
    const uint64_t given = problem_.given.maxStepOperations;
    return static_cast<double>(given != 0 ? given : traitsOf(kernel).stepOperations);
}

std::array<Operand, 4> PhaseBuilder::attentionOperands(Operand output) const {
    const bool dequantizes = decision_.dequantizedKeys.has_value();
    return {Operand::q, dequantizes ? Operand::dequantizedK : Operand::k,
            dequantizes ? Operand::dequantizedV : Operand::v, output};
}

const VkfTensorLayout* PhaseBuilder::tensorOf(Operand operand) const {
    if (operand == Operand::dequantizedK || operand == Operand::dequantizedV) {
        return operand == Operand::dequantizedK ? &decision_.dequantizedKeys->k : &decision_.dequantizedKeys->v;
    }
    const auto index = static_cast<size_t>(operand) - static_cast<size_t>(Operand::q);
    return index < problem_.layouts.size() ? &problem_.layouts[index] : nullptr;
}

ByteStrides PhaseBuilder::operandStrides(Operand operand) const {
    if (operand == Operand::scratch) {
        return byteStrides(scratch_);
    }
    if (operand == Operand::probabilities) {
        return byteStrides(probabilitiesLayout(problem_.given));
    }
    const VkfTensorLayout* layout = tensorOf(operand);
    return layout != nullptr ? byteStrides(*layout) : ByteStrides{};
}

} // namespace vkf
