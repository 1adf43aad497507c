// SPDX-License-Identifier: MIT
#include "planning/gradient/gradient_phases.hpp"

#include <algorithm>
#include <utility>

#include "base/message.hpp"
#include "planning/counts.hpp"
#include "planning/item_steps.hpp"

namespace vkf {
namespace {

// Adds phases of a group to all phases. The first of them joins the phase before it if `joins`; the others join it.
void addTogether(std::vector<Phase>&& group, bool joins, std::vector<Phase>* all) {
    for (Phase& phase : group) {
        phase.joins = joins;
        joins = true;
        all->push_back(std::move(phase));
    }
}

void addJoined(std::optional<Phase>&& phase, std::vector<Phase>* all) {
    if (phase) {
        phase->joins = true;
        all->push_back(std::move(*phase));
    }
}

} // namespace

std::vector<Phase> inOrder(GradientPhases&& phases) {
    std::vector<Phase> all;
    if (phases.table) {
        all.push_back(*phases.table);
    }
    // These do not read the table.
    addJoined(std::move(phases.keySequences), &all);
    addJoined(std::move(phases.rowSequences), &all);
    addJoined(std::move(phases.rowState), &all);
    const bool hasBands = !phases.bands.empty();
    all.insert(all.end(), phases.bands.begin(), phases.bands.end());
    const bool hasPairs = !phases.pairs.empty();
    addTogether(std::move(phases.pairs), hasBands, &all); // dv, while the last dq is made
    addTogether(std::move(phases.fallback), false, &all);
    addTogether(std::move(phases.others), hasBands || hasPairs, &all);
    return all;
}

bool GradientPhaseBuilder::needsStorage16() const {
    const auto is16Bit = [](const VkfTensorLayout& layout) { return layout.type != VKF_TYPE_F32; };
    const CheckedGradient& g = gradient_;
    return std::any_of(g.forward.layouts.begin(), g.forward.layouts.end(), is16Bit) ||
           std::any_of(g.layouts.begin(), g.layouts.end(), is16Bit) || g.given.dbiasType != VKF_TYPE_F32;
}

VkfResult GradientPhaseBuilder::make(Kernel kernel, const Constants& ofTile, const std::array<Tensor, 4>& tensors,
                                     uint64_t items, double operations, Phase* phase, VkfMessage* message) const {
    if (const VkfResult result = checkItemCount(items, message); result != VKF_SUCCESS) {
        return result;
    }
    Phase made;
    std::array<ByteStrides, 4> strides{};
    std::array<const char*, 4> names{};
    for (size_t i = 0; i < tensors.size(); i++) {
        made.operands[i] = tensors[i].operand;
        strides[i] = tensors[i].layout != nullptr ? byteStrides(*tensors[i].layout) : ByteStrides{};
        names[i] = tensors[i].name;
    }
    uint32_t shift = 0;
    if (const VkfResult result = chooseStrideShift(strides, &shift, message, names); result != VKF_SUCCESS) {
        return result;
    }
    const KernelTraits& traits = traitsOf(kernel);
    made.params = baseParams(forward(), strides, shift);
    made.variant.kernel = kernel;
    made.variant.storage16 = isTaken(traits.storage16, needsStorage16());
    made.variant.rolled = keepsLoops(traits, caps().quirks);
    if (traits.matrices) {
        made.variant.bf16 = decision_.productType == VKF_TYPE_BF16;
        made.variant.viaShared = isTaken(traits.viaShared, decision_.matrix.viaShared);
        made.variant.subgroups = true;
        made.variant.subgroupSize = caps().subgroupSize;
    }
    made.variant.constants = gradientConstants(gradient_, ofTile, shift);
    made.items = static_cast<uint32_t>(items);
    const uint64_t given = forward().given.maxStepOperations;
    const auto most = static_cast<double>(given != 0 ? given : traits.stepOperations);
    made.itemsPerStep = itemsOfStep(most, operations, caps().maxGroupCount);
    *phase = made;
    return VKF_SUCCESS;
}

std::array<GradientPhaseBuilder::Tensor, 4> GradientPhaseBuilder::pairTensors() const {
    const CheckedProblem& p = forward();
    return {{{Operand::q, &p.layout(VKF_TENSOR_Q), "q"},
             {Operand::k, &p.layout(VKF_TENSOR_K), "k"},
             {Operand::v, &p.layout(VKF_TENSOR_V), "v"},
             {Operand::dout, &gradient_.layout(VKF_BACKWARD_DOUT), "dout"}}};
}

template <KernelTile Tile>
VkfResult GradientPhaseBuilder::makePairs(Kernel kernel, const Tile& tile, Constants constants, uint64_t items,
                                          double operations, Phase* phase, VkfMessage* message) const {
    constants[VKF_ID_WRITES_DK] = tile.owner == GradientOwner::keys && tile.sumsHeads() ? 1 : 0;
    constants[VKF_ID_WRITES_DV] = tile.owner == GradientOwner::keys && tile.sumsValues() ? 1 : 0;
    return make(kernel, constants, pairTensors(), items, operations, phase, message);
}

VkfResult GradientPhaseBuilder::makePairs(const GradientTile& tile, uint64_t items, double operations, Phase* phase,
                                          VkfMessage* message) const {
    return makePairs(Kernel::backwardScalar, tile, tileConstants(tile), items, operations, phase, message);
}

VkfResult GradientPhaseBuilder::makePairs(const GradientMatrixTile& tile, uint64_t items, double operations,
                                          Phase* phase, VkfMessage* message) const {
    Constants constants = tileConstants(tile);
    constants[VKF_ID_WHOLE_WORDS] = hasWholeWords(gradient_, tile) ? 1 : 0;
    constants[VKF_ID_LOCKSTEP] = (caps_.quirks & VKF_QUIRK_LOCKSTEP_SUBGROUPS) != 0 ? 1 : 0;
    return makePairs(Kernel::backwardCoopmat, tile, constants, items, operations, phase, message);
}

VkfResult GradientPhaseBuilder::makeSums(const GradientSumTile& tile, bool writesDv, uint64_t items, double operations,
                                         Phase* phase, VkfMessage* message) const {
    Constants constants = tileConstants(tile);
    constants[VKF_ID_WHOLE_WORDS] = hasWholeWords(gradient_, tile) ? 1 : 0;
    constants[VKF_ID_WRITES_DV] = writesDv ? 1 : 0;
    return make(Kernel::backwardSums, constants, pairTensors(), items, operations, phase, message);
}

VkfResult GradientPhaseBuilder::requireTile(uint32_t workgroupSize, VkfMessage* message) const {
    const VkfProblem& p = forward().given;
    return workgroupSize != 0
               ? VKF_SUCCESS
               : fail(message, VKF_ERROR_UNSUPPORTED,
                      "the backward pass of headDim %u and valueDim %u needs more than the device's %u bytes of shared "
                      "memory",
                      p.headDim, p.valueDim, caps_.maxSharedMemoryBytes);
}

} // namespace vkf
