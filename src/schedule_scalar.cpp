// SPDX-License-Identifier: MIT
#include "schedule_paths.hpp"

#include "tile_problem.hpp"
#include "tuning.hpp"

namespace vkf {

VkfResult setScalarTile(const Caps& caps, const CheckedProblem& problem, ScheduleBuilder& builder,
                        VkfMessage* message) {
    const VkfProblem& p = problem.given;
    const Tile tile = chooseScalarTile(caps, tileProblem(builder.path(), problem), builder.considered());
    if (tile.workgroupSize == 0) {
        return fail(message, VKF_ERROR_UNSUPPORTED,
                    "headDim %u and valueDim %u need more than the %u bytes of shared memory there are", p.headDim,
                    p.valueDim, caps.maxSharedMemoryBytes);
    }
    builder.setTile(tile, tile.workgroupSize);
    builder.setTuning(tile.text(), tile.tuned);
    return VKF_SUCCESS;
}

VkfResult scheduleScalar(const Caps& caps, const CheckedProblem& problem, ScheduleBuilder& builder,
                         VkfMessage* message) {
    const VkfResult result = setScalarTile(caps, problem, builder, message);
    return result == VKF_SUCCESS ? scheduleFused(Kernel::attentionScalar, problem, builder, message) : result;
}

} // namespace vkf
