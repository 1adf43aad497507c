// SPDX-License-Identifier: MIT
#include "schedule_paths.hpp"

#include <algorithm>

#include "decode_tuning.hpp"
#include "matrix_obstacle.hpp"
#include "tile_problem.hpp"

namespace vkf {
namespace {

DecodeProblem decodeProblem(const CheckedProblem& problem) {
    const VkfProblem& p = problem.given;
    return {p.headDim,
            p.valueDim,
            p.k.type,
            p.v.type,
            uint64_t{p.queryHeads / std::max(p.kvHeads, 1U)} * p.queryRows,
            uint64_t{p.batch} * p.kvHeads,
            static_cast<uint32_t>(widestRow(problem))};
}

// The phases of path decode, once the tile is set.
VkfResult addDecode(const Caps& caps, Kernel kernel, uint32_t chosenSplits, const CheckedProblem& problem,
                    ScheduleBuilder& builder, VkfMessage* message) {
    builder.packHeads();
    const uint32_t splits = problem.given.kvSplits != 0 ? problem.given.kvSplits : chosenSplits;
    return splits > 1 && !problem.empty ? scheduleSplits(caps, kernel, splits, problem, builder, message)
                                        : scheduleFused(kernel, problem, builder, message);
}

} // namespace

VkfResult scheduleDecode(const Caps& caps, const CheckedProblem& problem, ScheduleBuilder& builder,
                         VkfMessage* message) {
    const VkfProblem& p = problem.given;
    const bool wholeKeys = inWholeWords(problem.layout(VKF_TENSOR_K)) && inWholeWords(problem.layout(VKF_TENSOR_V));
    if (matrixObstacle(caps, problem) == nullptr) {
        const DecodeMatrixPlan chosen = chooseDecodeMatrixTile(caps, caps.matrixOf(p.q.type), decodeProblem(problem));
        if (chosen.tile.rowSubgroups != 0) {
            builder.setTile(chosen.tile, chosen.tile.workgroupSize());
            builder.setMatrices(chosen.tile.layout);
            builder.setWholeWords(wholeKeys && inWholeWords(problem.layout(VKF_TENSOR_Q)));
            const bool bf16 = p.q.type == VKF_TYPE_BF16;
            return addDecode(caps, bf16 ? Kernel::attentionDecodeMatrixBf16 : Kernel::attentionDecodeMatrix,
                             chosen.splits, problem, builder, message);
        }
    }
    const DecodePlan chosen = chooseDecodeTile(caps, decodeProblem(problem));
    const DecodeTile& tile = chosen.tile;
    if (tile.workgroupSize == 0) {
        return fail(message, VKF_ERROR_UNSUPPORTED,
                    "path decode: headDim %u and valueDim %u need more than the %u bytes of shared memory there are",
                    p.headDim, p.valueDim, caps.maxSharedMemoryBytes);
    }
    builder.setTile(tile, tile.workgroupSize);
    builder.setWholeWords(wholeKeys);
    return addDecode(caps, Kernel::attentionDecode, chosen.splits, problem, builder, message);
}

} // namespace vkf
