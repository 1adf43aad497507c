// SPDX-License-Identifier: MIT
#include "support/variations.hpp"

#include "support/device.hpp"

namespace vkf::test {

host::Device& deviceOf(const Variation& variation) {
    return testDevice(variation.quirks, variation.maxSharedMemoryBytes);
}

void apply(const Variation& variation, VkfProblem& problem) {
    problem.path = variation.path;
    problem.precision = variation.precision;
}

namespace {

// By masks that no range of keys tells.
bool isMaskedByKey(const VkfProblem& problem) {
    const bool firstKeys = problem.window.enabled != 0 && problem.window.firstKeys != 0;
    return problem.mask.enabled != 0 || problem.documents != 0 || firstKeys;
}

} // namespace

bool takes(const Variation& variation, const VkfProblem& problem) {
    if (variation.path != VKF_PATH_COOPMAT) {
        const bool knowsBlocks = variation.path != VKF_PATH_STANDARD && variation.path != VKF_PATH_DECODE;
        const bool knowsMasks = variation.path != VKF_PATH_STANDARD;
        const bool knowsPacked = variation.path != VKF_PATH_STANDARD && variation.path != VKF_PATH_KEY_OUTER;
        return (knowsPacked || problem.packed == 0) && (knowsBlocks || problem.maskBlock == 0) &&
               (knowsMasks || !isMaskedByKey(problem));
    }
    const VkfType type = problem.q.type;
    if (type == VKF_TYPE_F32 || problem.k.type != type || problem.v.type != type) {
        return false;
    }
    VkfProblem onMatrices = problem;
    onMatrices.path = variation.path;
    return type == VKF_TYPE_F16 || vkfIsSupported(deviceOf(variation).context(), &onMatrices, nullptr) == VKF_SUCCESS;
}

} // namespace vkf::test
