// SPDX-License-Identifier: MIT
#include "planning/paths.hpp"

#include "tiles/scalar_tile.hpp"
#include "tiles/tile_problem.hpp"

namespace vkf {

VkfResult setScalarTile(const TunedDevice& device, const CheckedProblem& problem, PlanBuilder& builder,
                        VkfMessage* message, uint32_t* splits) {
    const VkfProblem& p = problem.given;
    const ScalarPlan chosen = chooseScalarTile(device, tileProblem(builder.path(), problem), builder.considered());
    if (chosen.tile.workgroupSize() == 0) {
        return fail(message, VKF_ERROR_UNSUPPORTED,
                    "headDim %u and valueDim %u need more than the device's %u bytes of shared memory", p.headDim,
                    p.valueDim, device.caps.maxSharedMemoryBytes);
    }
    const uint32_t taken = p.kvSplits != 0 ? p.kvSplits : chosen.splits;
    if (splits != nullptr) {
        *splits = taken;
    }
    builder.setTile(chosen.tile, taken, chosen.tuned);
    return VKF_SUCCESS;
}

VkfResult scheduleScalar(const TunedDevice& device, const CheckedProblem& problem, PlanBuilder& builder,
                         VkfMessage* message) {
    uint32_t splits = 1;
    const VkfResult result = setScalarTile(device, problem, builder, message, &splits);
    if (result != VKF_SUCCESS) {
        return result;
    }
    return scheduleFused(device.caps, Kernel::attentionScalar, splits, problem, builder, message);
}

} // namespace vkf
