// SPDX-License-Identifier: MIT
#include "schedule/gradient/gradient_builder.hpp"

#include <algorithm>

#include "base/message.hpp"
#include "device/matrix_support.hpp"
#include "problem/strides.hpp"
#include "schedule/counts.hpp"
#include "schedule/item_steps.hpp"
#include "schedule/packed_sequences.hpp"

namespace vkf {

namespace {

// Whether rows of all visited and owned tensors are whole words, and offsets within one tile fit 32 bits.
template <KernelTile Tile> bool hasWholeWords(const CheckedGradient& gradient, const Tile& tile) {
    const VkfTensorLayout& dout = gradient.layout(VKF_BACKWARD_DOUT);
    return hasWholeWords(gradient.forward, tile) && inWholeWords(dout) &&
           byteStrides(dout).row <= most32 / std::max(tile.rows(), tile.keys()) - loadedWordBytes;
}

} // namespace

bool GradientBuilder::needsStorage16() const {
    const auto is16Bit = [](const VkfTensorLayout& layout) { return layout.type != VKF_TYPE_F32; };
    const CheckedGradient& g = gradient_;
    return std::any_of(g.forward.layouts.begin(), g.forward.layouts.end(), is16Bit) ||
           std::any_of(g.layouts.begin(), g.layouts.end(), is16Bit) || g.given.dbiasType != VKF_TYPE_F32;
}

VkfResult GradientBuilder::add(Kernel kernel, const Constants& ofTile, const std::array<Tensor, 4>& tensors,
                               uint64_t items, double operations, VkfMessage* message) {
    if (const VkfResult result = checkItemCount(items, message); result != VKF_SUCCESS) {
        return result;
    }
    Phase phase;
    std::array<ByteStrides, 4> strides{};
    std::array<const char*, 4> names{};
    for (size_t i = 0; i < tensors.size(); i++) {
        phase.operands[i] = tensors[i].operand;
        strides[i] = tensors[i].layout != nullptr ? byteStrides(*tensors[i].layout) : ByteStrides{};
        names[i] = tensors[i].name;
    }
    uint32_t shift = 0;
    if (const VkfResult result = chooseStrideShift(strides, &shift, message, names); result != VKF_SUCCESS) {
        return result;
    }
    const KernelTraits& traits = traitsOf(kernel);
    phase.params = baseParams(forward(), strides, shift);
    phase.variant.kernel = kernel;
    phase.variant.storage16 = isTaken(traits.storage16, needsStorage16());
    phase.variant.rolled = traits.unrolledLoops && (caps().quirks & VKF_QUIRK_ROLLED_LOOPS) != 0;
    if (traits.matrices) {
        phase.variant.bf16 = schedule_->productType == VKF_TYPE_BF16;
        phase.variant.exchange = isTaken(traits.exchange, schedule_->matrix.viaShared);
        phase.variant.subgroups = true;
        phase.variant.subgroupSize = caps().subgroupSize;
    }
    phase.variant.constants = gradientConstants(gradient_, ofTile, shift);
    phase.items = static_cast<uint32_t>(items);
    const uint64_t given = forward().given.maxStepOperations;
    const auto most = static_cast<double>(given != 0 ? given : traits.stepOperations);
    phase.itemsPerStep = itemsOfStep(most, operations, caps().maxGroupCount);
    schedule_->phases.push_back(phase);
    return VKF_SUCCESS;
}

std::array<GradientBuilder::Tensor, 4> GradientBuilder::pairTensors() const {
    const CheckedProblem& p = forward();
    return {{{Operand::q, &p.layout(VKF_TENSOR_Q), "q"},
             {Operand::k, &p.layout(VKF_TENSOR_K), "k"},
             {Operand::v, &p.layout(VKF_TENSOR_V), "v"},
             {Operand::dout, &gradient_.layout(VKF_BACKWARD_DOUT), "dout"}}};
}

template <KernelTile Tile> void GradientBuilder::showTile(const Tile& tile) {
    TileShape& shown = schedule_->tile;
    shown.workgroupSize = std::max(shown.workgroupSize, tile.workgroupSize());
    shown.sharedBytes = std::max(shown.sharedBytes, tile.sharedBytes());
}

// Where rows are whole words, kernels load them as such, and the addresses must be aligned to words.
template <KernelTile Tile> void GradientBuilder::setWholeWords(const Tile& tile, Constants* constants) {
    const bool wholeWords = hasWholeWords(gradient_, tile);
    (*constants)[VKF_ID_WHOLE_WORDS] = wholeWords ? 1 : 0;
    schedule_->inputAlignment = std::max(schedule_->inputAlignment, wholeWords ? loadedWordBytes : 1U);
}

template <KernelTile Tile>
VkfResult GradientBuilder::addPairs(Kernel kernel, const Tile& tile, Constants constants, uint64_t items,
                                    double operations, VkfMessage* message) {
    showTile(tile);
    constants[VKF_ID_WRITES_DK] = tile.owner == GradientOwner::keys && tile.sumsHeads() ? 1 : 0;
    constants[VKF_ID_WRITES_DV] = tile.owner == GradientOwner::keys && tile.sumsValues() ? 1 : 0;
    return add(kernel, constants, pairTensors(), items, operations, message);
}

VkfResult GradientBuilder::addPairs(const GradientTile& tile, uint64_t items, double operations, VkfMessage* message) {
    return addPairs(Kernel::backwardScalar, tile, tileConstants(tile), items, operations, message);
}

VkfResult GradientBuilder::addPairs(const GradientMatrixTile& tile, uint64_t items, double operations,
                                    VkfMessage* message) {
    schedule_->tuned = schedule_->tuned || tile.tuned;
    Constants constants = tileConstants(tile);
    setWholeWords(tile, &constants);
    constants[VKF_ID_LOCKSTEP] = (caps().quirks & VKF_QUIRK_LOCKSTEP_SUBGROUPS) != 0 ? 1 : 0;
    return addPairs(Kernel::backwardCoopmat, tile, constants, items, operations, message);
}

VkfResult GradientBuilder::addSums(const GradientSumTile& tile, bool writesDv, uint64_t items, double operations,
                                   VkfMessage* message) {
    showTile(tile);
    Constants constants = tileConstants(tile);
    setWholeWords(tile, &constants);
    constants[VKF_ID_WRITES_DV] = writesDv ? 1 : 0;
    return add(Kernel::backwardSums, constants, pairTensors(), items, operations, message);
}

void GradientBuilder::setMatrices(const MatrixLayout& layout) {
    schedule_->matrix = layout;
    schedule_->productType = matrixType(forward().given);
}

void GradientBuilder::reserveState(uint64_t rows) {
    schedule_->scratchStateOffset = schedule_->reserveScratch(rows * 2 * sizeof(float));
}

void GradientBuilder::joinGradients() {
    lastPhase().joins = hasGradient_;
    hasGradient_ = true;
}

// Adds a phase that lists the sequences of tiles before all others.
void GradientBuilder::addList(TileSequences* tileSequences, Operand starts) {
    if (tileSequences->count == 0) {
        return;
    }
    tileSequences->offset = schedule_->reserveScratch(uint64_t{tileSequences->count} * sizeof(uint32_t));
    Phase list = sequenceListPhase(forward().given);
    list.operands[0] = starts;
    list.joins = true;
    schedule_->phases.insert(schedule_->phases.begin(), list);
}

void GradientBuilder::finish() {
    if (!hasGradient_) {
        schedule_->phases.clear();
        schedule_->scratchBytes = 0;
        return;
    }
    addList(&schedule_->tileSequences, Operand::rowStarts);
    addList(&schedule_->keyTileSequences, Operand::keyStarts);
    Phase write;
    write.variant.kernel = Kernel::writeTable;
    write.items = 1;
    write.itemsPerStep = 1;
    schedule_->phases.insert(schedule_->phases.begin(), write);
    schedule_->tableOffset = schedule_->reserveScratch(sizeof(shared::BackwardTable));
}

} // namespace vkf
