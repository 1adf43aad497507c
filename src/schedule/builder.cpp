// SPDX-License-Identifier: MIT
#include "schedule/builder.hpp"

#include <algorithm>

#include "device/matrix_support.hpp"
#include "schedule/counts.hpp"
#include "schedule/item_steps.hpp"
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

VkfResult ScheduleBuilder::add(Kernel kernel, const std::array<Operand, 4>& operands, uint64_t items, double operations,
                               VkfMessage* message) {
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
    Phase phase;
    phase.operands = operands;
    phase.params = baseParams(problem_, strides, shift);
    phase.variant.kernel = kernel;
    const KernelTraits& traits = traitsOf(kernel);
    const bool has16Bits = std::any_of(operands.begin(), operands.end(), [this](Operand operand) {
        const VkfTensorLayout* layout = tensorOf(operand);
        return layout != nullptr && layout->type != VKF_TYPE_F32;
    });
    phase.variant.storage16 = isTaken(traits.storage16, has16Bits && caps_.storage16());
    phase.variant.rolled = traits.unrolledLoops && (caps_.quirks & VKF_QUIRK_ROLLED_LOOPS) != 0;
    phase.variant.bf16 = traits.matrices && matrices_ == VKF_TYPE_BF16;
    phase.variant.exchange = isTaken(traits.exchange, schedule_->matrix.viaShared);
    phase.variant.subgroups = isTaken(traits.subgroups, caps_.subgroupReductions());
    phase.variant.subgroupSize = phase.variant.subgroups ? caps_.subgroupSize : 0;
    if (traits.constants == ConstantFamily::tile || traits.constants == ConstantFamily::problem) {
        const bool tiled = traits.constants == ConstantFamily::tile;
        phase.variant.constants = constantsOf(problem_, tiled ? tileConstants_ : Constants{}, shift);
        if (operands[VKF_K] == Operand::dequantizedK) {
            setDequantizedConstants(schedule_->productType, &phase.variant.constants);
        }
        if (schedule_->bf16x3) {
            setExtraSlotToTable(problem_, phase.variant.constants);
        }
    }
    phase.items = static_cast<uint32_t>(items);
    phase.itemsPerStep = itemsOfStep(stepOperations(kernel), operations, caps_.maxGroupCount);
    schedule_->phases.push_back(phase);
    return VKF_SUCCESS;
}

void ScheduleBuilder::setScratch(const VkfTensorLayout& layout) {
    scratch_ = layout;
    schedule_->scratchBytes = layout.elements * sizeof(float);
}

void ScheduleBuilder::addScratchState(uint32_t keySplits) {
    schedule_->scratchStateOffset = schedule_->scratchBytes;
    schedule_->scratchBytes += heads() * problem_.given.queryRows * keySplits * 2 * sizeof(float);
}

void ScheduleBuilder::addScratchLse() {
    schedule_->scratchLseOffset = schedule_->scratchBytes;
    schedule_->scratchBytes += heads() * problem_.given.queryRows * sizeof(float);
}

void ScheduleBuilder::writeLse(Operand lse) {
    const auto softmax = std::find_if(schedule_->phases.begin(), schedule_->phases.end(), [](const Phase& phase) {
        return phase.variant.kernel == Kernel::standardSoftmax;
    });
    const auto write = [lse](Phase& writer) {
        const bool merges = traitsOf(writer.variant.kernel).constants == ConstantFamily::merge;
        writer.lse = lse;
        writer.variant.constants[merges ? VKF_MERGE_ID_LSE : VKF_ID_LSE] = 1;
    };
    write(softmax != schedule_->phases.end() ? *softmax : schedule_->phases.back());
    if (schedule_->bf16x3) { // the last phase may do nothing; the one before it finishes rows too
        write(*(schedule_->phases.end() - 2));
    }
}

void ScheduleBuilder::setLayout(const MatrixLayout& layout, VkfType type) {
    schedule_->matrix = layout;
    matrices_ = type;
    tileConstants_[VKF_ID_LOCKSTEP] = (caps_.quirks & VKF_QUIRK_LOCKSTEP_SUBGROUPS) != 0 ? 1 : 0;
}

void ScheduleBuilder::setMatrices(const MatrixLayout& layout) {
    setLayout(layout, matrixType(problem_.given));
    schedule_->productType = matrixType(problem_.given);
}

void ScheduleBuilder::setBf16x3Matrices(const MatrixLayout& layout) {
    setLayout(layout, bf16x3Type(caps_));
    schedule_->bf16x3 = true;
    tileConstants_[VKF_ID_PARTS_ARE_BF16] = matrices_ == VKF_TYPE_BF16 ? 1 : 0;
}

void ScheduleBuilder::setWholeWords(bool wholeWords) {
    schedule_->inputAlignment = wholeWords ? loadedWordBytes : 1;
    tileConstants_[VKF_ID_WHOLE_WORDS] = wholeWords ? 1 : 0;
}

uint64_t ScheduleBuilder::rowTiles() const {
    const uint32_t packed = std::max(tileConstants_[VKF_ID_PACKED_HEADS], 1U);
    return tilesOfRows(problem_, packed, schedule_->tile.rows) * (heads() / packed);
}

double ScheduleBuilder::stepOperations(Kernel kernel) const {
    const uint64_t given = problem_.given.maxStepOperations;
    return static_cast<double>(given != 0 ? given : traitsOf(kernel).stepOperations);
}

std::array<Operand, 4> ScheduleBuilder::attentionOperands(Operand output) const {
    return {Operand::q, dequantizesKeys() ? Operand::dequantizedK : Operand::k,
            dequantizesKeys() ? Operand::dequantizedV : Operand::v, output};
}

const VkfTensorLayout* ScheduleBuilder::tensorOf(Operand operand) const {
    if (operand == Operand::dequantizedK || operand == Operand::dequantizedV) {
        return operand == Operand::dequantizedK ? &schedule_->dequantizedKeys.k : &schedule_->dequantizedKeys.v;
    }
    const auto index = static_cast<size_t>(operand) - static_cast<size_t>(Operand::q);
    return index < problem_.layouts.size() ? &problem_.layouts[index] : nullptr;
}

ByteStrides ScheduleBuilder::operandStrides(Operand operand) const {
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
