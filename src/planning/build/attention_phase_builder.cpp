// SPDX-License-Identifier: MIT
#include "planning/build/attention_phase_builder.hpp"

#include "planning/kernel_parameters.hpp"
#include "tiles/tile_problem.hpp"

namespace vkf {
namespace {

// k and v have the type of the matrices, and the keys of all pages lie one after the other.
void setDequantizedConstants(VkfType type, Constants* constants) {
    (*constants)[VKF_ID_TYPE_K] = static_cast<uint32_t>(type);
    (*constants)[VKF_ID_TYPE_V] = static_cast<uint32_t>(type);
    (*constants)[VKF_ID_PAGES_ARE_COPIED] = 1;
}

} // namespace

VkfResult AttentionPhaseBuilder::make(Kernel kernel, const Constants& constants, const std::array<Operand, 4>& operands,
                                      uint64_t items, double operations, Phase* phase, VkfMessage* message) const {
    static constexpr std::array names = {"q", "k", "v", "o"};
    PhaseRequest request{kernel, {}, false, items, operations};
    for (size_t i = 0; i < operands.size(); i++) {
        const VkfTensorLayout* layout = tensorOf(operands[i]);
        request.tensors[i] = {operands[i], operandStrides(operands[i]), names[i]};
        request.has16Bits = request.has16Bits || (layout != nullptr && layout->type != VKF_TYPE_F32);
    }
    uint32_t shift = 0;
    const VkfResult result = PhaseBuilder::make(request, phase, &shift, message);
    if (result == VKF_SUCCESS) {
        phase->variant.constants = constantsOf(*phase, constants, shift);
    }
    return result;
}

// Merges have constants of their own.
Constants AttentionPhaseBuilder::constantsOf(const Phase& phase, const Constants& ofTile, uint32_t strideShift) const {
    const ConstantFamily family = traitsOf(phase.variant.kernel).constants;
    if (family != ConstantFamily::tile && family != ConstantFamily::problem) {
        return {};
    }
    Constants constants = vkf::constantsOf(problem(), ofTile, strideShift, decision_.extraSlot);
    if (phase.operands[VKF_K] == Operand::dequantizedK) {
        setDequantizedConstants(decision_.productType, &constants);
    }
    return constants;
}

void AttentionPhaseBuilder::writeLse(Phase* phase) const {
    const bool merges = traitsOf(phase->variant.kernel).constants == ConstantFamily::merge;
    phase->lse = decision_.lse;
    phase->variant.constants[merges ? VKF_MERGE_ID_LSE : VKF_ID_LSE] = decision_.lse != Operand::none ? 1 : 0;
}

uint64_t AttentionPhaseBuilder::rowTiles() const {
    const uint32_t packed = decision_.packedHeads;
    return tilesOfRows(problem(), packed, decision_.tile.rows) * (heads() / packed);
}

std::array<Operand, 4> AttentionPhaseBuilder::attentionOperands(Operand output) const {
    const bool dequantizes = decision_.dequantizedKeys.has_value();
    return {Operand::q, dequantizes ? Operand::dequantizedK : Operand::k,
            dequantizes ? Operand::dequantizedV : Operand::v, output};
}

const VkfTensorLayout* AttentionPhaseBuilder::tensorOf(Operand operand) const {
    if (operand == Operand::dequantizedK || operand == Operand::dequantizedV) {
        return operand == Operand::dequantizedK ? &decision_.dequantizedKeys->k : &decision_.dequantizedKeys->v;
    }
    const auto index = static_cast<size_t>(operand) - static_cast<size_t>(Operand::q);
    return index < problem().layouts.size() ? &problem().layouts[index] : nullptr;
}

ByteStrides AttentionPhaseBuilder::operandStrides(Operand operand) const {
    if (operand == Operand::scratch) {
        return byteStrides(scratch_);
    }
    if (operand == Operand::probabilities) {
        return byteStrides(probabilitiesLayout(problem().fields));
    }
    const VkfTensorLayout* layout = tensorOf(operand);
    return layout != nullptr ? byteStrides(*layout) : ByteStrides{};
}

} // namespace vkf
