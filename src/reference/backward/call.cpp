// SPDX-License-Identifier: MIT
#include "reference/backward/call.hpp"

#include "problem/first_sizes.hpp"

namespace vkf {

// The last field of version 0.4.
VKF_FIRST_SIZE(VkfReferenceBackwardInputs, dlse);

} // namespace vkf

namespace vkf::reference {
namespace {

VkfResult checkMemory(const BackwardCall& call, VkfMessage* message) {
    if (call.forward.empty()) {
        return VKF_SUCCESS;
    }
    if (call.inputs.dout == nullptr) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "backwardInputs.dout is null");
    }
    if (has(call.problem, VKF_USE_DLSE) && call.inputs.dlse == nullptr) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "backwardInputs.dlse is null");
    }
    return VKF_SUCCESS;
}

} // namespace

VkfResult checkBackwardCall(const VkfBackwardProblem* problem, const VkfReferenceInputs* inputs,
                            const VkfReferenceBackwardInputs* backwardInputs, const VkfReferenceOptions* options,
                            BackwardCall* call, VkfMessage* message) {
    if (const VkfResult result = vkfCheckBackward(problem, message); result != VKF_SUCCESS) {
        return result;
    }
    if (const VkfResult result = readVersioned(problem, &call->problem, "problem", message); result != VKF_SUCCESS) {
        return result;
    }
    VkfProblem forward{};
    if (const VkfResult result = readVersioned(call->problem.forward, &forward, "problem", message);
        result != VKF_SUCCESS) {
        return result;
    }
    enable(forward, VKF_USE_PROBABILITIES | VKF_USE_PROBABILITY_ROWS, false);
    forward.probabilityRowCount = 0;
    if (const VkfResult result = checkCall(&forward, inputs, options, &call->forward, message); result != VKF_SUCCESS) {
        return result;
    }
    VkfReferenceOptions& checkedOptions = call->forward.options;
    if (checkedOptions.algorithm > VKF_REFERENCE_TILED_FP32_TWO_ROUNDINGS) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "options.algorithm is %d; the backward pass has 0 to %d",
                    static_cast<int>(checkedOptions.algorithm),
                    static_cast<int>(VKF_REFERENCE_TILED_FP32_TWO_ROUNDINGS));
    }
    if (const VkfResult result = readVersioned(backwardInputs, &call->inputs, "backwardInputs", message);
        result != VKF_SUCCESS) {
        return result;
    }
    if (const VkfResult result = checkMemory(*call, message); result != VKF_SUCCESS) {
        return result;
    }
    for (size_t role = 0; role < call->layouts.size(); role++) {
        call->layouts[role] = layoutOf(*problem, static_cast<VkfBackwardRole>(role));
    }
    call->first = checkedOptions.rowBegin;
    call->stride = checkedOptions.rowStride;
    checkedOptions.rowBegin = 0;
    checkedOptions.rowStride = 1;
    call->forward.rows = call->forward.problem.queryRows;
    return VKF_SUCCESS;
}

} // namespace vkf::reference
