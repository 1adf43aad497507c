// SPDX-License-Identifier: MIT
#include "planning/decide/decide_paths.hpp"

#include "planning/kernel_parameters.hpp"
#include "tiles/scalar_tile.hpp"
#include "tiles/tile_problem.hpp"

namespace vkf {

VkfResult decideScalarTile(const TunedDevice& device, const CheckedProblem& problem, ScalarPlan* plan,
                           Decision* decision, VkfMessage* message) {
    const VkfProblem& p = problem.fields;
    *plan = chooseScalarTile(device, tileProblem(decision->path, problem), &decision->considered);
    if (plan->tile.workgroupSize() == 0) {
        return fail(message, VKF_ERROR_UNSUPPORTED,
                    "headDim %u and valueDim %u need more than the device's %u bytes of shared memory", p.headDim,
                    p.valueDim, device.caps.maxSharedMemoryBytes);
    }
    setTileAndSplits(problem, plan->tile, plan->splits, plan->tuned, decision);
    decision->constants = tileConstants(plan->tile);
    return VKF_SUCCESS;
}

VkfResult decideScalar(const TunedDevice& device, const CheckedProblem& problem, Decision* decision,
                       VkfMessage* message) {
    ScalarPlan plan;
    const VkfResult result = decideScalarTile(device, problem, &plan, decision, message);
    if (result == VKF_SUCCESS) {
        decision->kernel = Kernel::attentionScalar;
    }
    return result;
}

VkfResult decideKeyOuter(const TunedDevice& device, const CheckedProblem& problem, Decision* decision,
                         VkfMessage* message) {
    ScalarPlan plan;
    decision->kernel = Kernel::attentionScalar;
    return decideScalarTile(device, problem, &plan, decision, message);
}

} // namespace vkf
