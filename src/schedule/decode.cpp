// SPDX-License-Identifier: MIT
#include "schedule/paths.hpp"

#include <algorithm>
#include <variant>

#include "device/matrix_obstacle.hpp"
#include "tiles/decode_choice.hpp"
#include "tiles/tile_problem.hpp"

namespace vkf {
namespace {

// Words of 4 bytes in which rows of k and v that are of block types can be loaded.
uint32_t blockUnit(const CheckedProblem& problem) {
    constexpr uint32_t largest = 2;
    const auto inPairs = [&problem](VkfTensorRole role) {
        const VkfTensorLayout& layout = problem.layout(role);
        return !isBlockType(layout.type) || inWholeWords(layout, largest * blockWordBytes);
    };
    return inPairs(VKF_TENSOR_K) && inPairs(VKF_TENSOR_V) ? largest : 1;
}

DecodeProblem decodeProblem(const CheckedProblem& problem) {
    const VkfProblem& p = problem.given;
    return {p.headDim,
            p.valueDim,
            p.k.type,
            p.v.type,
            uint64_t{p.queryHeads / std::max(p.kvHeads, 1U)} * typicalRows(p),
            uint64_t{typicalSequences(p)} * p.kvHeads,
            static_cast<uint32_t>(std::min<double>(widestRow(problem), typicalKeys(p))),
            blockUnit(problem),
            has(p, VKF_ARRAY_CU_SEQLENS) && p.longestRows == 0};
}

// Of the kernels on matrices one fills them from rows of their own type, those of fp16 also from rows of block types in
// whole words; that for wide heads takes whole words of their own type alone.
bool fillsMatrices(const VkfProblem& p, bool wide, bool wholeWords) {
    const auto fills = [&](VkfType type) {
        return type == p.q.type || (isBlockType(type) && p.q.type == VKF_TYPE_F16 && wholeWords && !wide);
    };
    return fills(p.k.type) && fills(p.v.type) && (!wide || (wholeWords && p.valueDim <= p.headDim));
}

// The kernel on matrices, but for that of wide heads, takes keys in order and none between the first ones and a window.
bool takesKeys(const CheckedProblem& problem, bool wide) { return wide || problem.firstKeys() == 0; }

} // namespace

VkfResult scheduleDecode(const TunedDevice& device, const CheckedProblem& problem, ScheduleBuilder& builder,
                         VkfMessage* message) {
    const Caps& caps = device.caps;
    const VkfProblem& p = problem.given;
    const bool wholeKeys = inWholeWords(problem.layout(VKF_TENSOR_K)) && inWholeWords(problem.layout(VKF_TENSOR_V));
    const bool wholeWords = wholeKeys && inWholeWords(problem.layout(VKF_TENSOR_Q));
    const MatrixLayout layout = caps.matrixOf(p.q.type);
    const DecodeProblem asked = decodeProblem(problem);
    const bool onMatrices = fillsMatrices(p, asked.wide(), wholeWords) && takesKeys(problem, asked.wide()) &&
                            matrixObstacle(caps, problem) == nullptr;
    const DecodeChoice chosen = chooseDecodeTile(caps, onMatrices ? &layout : nullptr, asked, builder.considered());
    const uint32_t chosenSplits = std::visit([](const auto& plan) { return plan.splits; }, chosen);
    const uint32_t splits = p.kvSplits != 0 ? p.kvSplits : chosenSplits;
    if (std::visit([](const auto& plan) { return plan.tile.workgroupSize() == 0; }, chosen)) {
        return fail(message, VKF_ERROR_UNSUPPORTED,
                    "path decode: headDim %u and valueDim %u need more than the %u bytes of shared memory there are",
                    p.headDim, p.valueDim, caps.maxSharedMemoryBytes);
    }
    std::visit([&](const auto& plan) { builder.setTile(plan.tile, splits); }, chosen);
    Kernel kernel = Kernel::attentionDecode;
    if (const auto* matrix = std::get_if<DecodeMatrixPlan>(&chosen); matrix != nullptr) {
        kernel = Kernel::attentionDecodeMatrix;
        builder.setMatrices(matrix->tile.layout);
    } else if (const auto* wide = std::get_if<DecodeWidePlan>(&chosen); wide != nullptr) {
        kernel = Kernel::attentionDecodeWide;
        builder.setMatrices(wide->tile.layout);
    }
    // The plain kernel reads q element by element anyway.
    builder.setWholeWords(kernel == Kernel::attentionDecode ? wholeKeys : wholeWords);
    builder.packHeads(packedHeads(builder.path(), problem));
    return scheduleFused(caps, kernel, splits, problem, builder, message);
}

} // namespace vkf
