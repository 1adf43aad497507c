// SPDX-License-Identifier: MIT
#include "planning/counts.hpp"

#include "base/message.hpp"
#include "problem/strides.hpp"

namespace vkf {

VkfResult checkRowCount(const CheckedProblem& problem, uint32_t splits, VkfMessage* message) {
    const VkfProblem& p = problem.fields;
    const uint64_t rows = uint64_t{tensorSequences(p)} * p.queryHeads * p.queryRows;
    return rows <= maxCount / splits
               ? VKF_SUCCESS
               : fail(message, VKF_ERROR_UNSUPPORTED, "%squeryHeads * queryRows%s is over the limit of %llu",
                      has(p, VKF_USE_CU_SEQLENS) ? "" : "batch * ", splits > 1 ? " * kvSplits" : "",
                      static_cast<unsigned long long>(maxCount));
}

VkfResult checkItemCount(uint64_t items, VkfMessage* message) {
    return items <= maxCount ? VKF_SUCCESS
                             : fail(message, VKF_ERROR_UNSUPPORTED, "%llu workgroups are over the limit of %llu",
                                    static_cast<unsigned long long>(items), static_cast<unsigned long long>(maxCount));
}

VkfResult checkStepCount(const std::vector<Phase>& phases, VkfMessage* message) {
    uint64_t steps = 0;
    for (const Phase& phase : phases) {
        steps += phase.steps();
    }
    return steps <= max32 ? VKF_SUCCESS
                          : fail(message, VKF_ERROR_UNSUPPORTED,
                                 "%llu steps are over the limit of %llu; a larger maxStepOperations makes fewer",
                                 static_cast<unsigned long long>(steps), static_cast<unsigned long long>(max32));
}

} // namespace vkf
