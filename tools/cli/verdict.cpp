// SPDX-License-Identifier: MIT
#include "cli/verdict.hpp"

#include <algorithm>

#include "cli/error.hpp"
#include "cli/optional_inputs.hpp"
#include "cli/progress.hpp"
#include "vkflash/vkflash.hpp"

namespace vkf::tools {

namespace {

VkfReferenceInputs referenceInputs(const host::HostTensors& tensors) {
    auto inputs = make<VkfReferenceInputs>();
    inputs.q = tensors.q;
    inputs.k = tensors.k;
    inputs.v = tensors.v;
    referOptional(tensors, inputs);
    return inputs;
}

VkfReferenceOptions referenceOptions(const VkfPlanInfo& plan, Progress& progress) {
    auto options = make<VkfReferenceOptions>();
    options.tileKeys = plan.tileKeys;
    options.productType = plan.productType;
    options.progress = [](void* user, double share) { static_cast<Progress*>(user)->update(share); };
    options.user = &progress;
    return options;
}

void check(VkfResult result, const VkfMessage& message) {
    if (result != VKF_SUCCESS)
        throw host::Error(result, fmt::format("the CPU reference failed: {}", message.text));
}

} // namespace

VkfVerdict verifyResult(const VkfProblem& problem, const host::HostTensors& tensors, const VkfPlanInfo& plan,
                        uint32_t sampleRows) {
    Progress progress("checking on the CPU");
    VkfReferenceOptions options = referenceOptions(plan, progress);
    if (sampleRows != 0) {
        // The stride is odd, so the rows have different positions in the kernel's tiles. The last row is included,
        // because it sees the most keys.
        options.rowStride = std::max(1U, problem.queryRows / sampleRows) | 1U;
        options.rowBegin = problem.queryRows == 0 ? 0 : (problem.queryRows - 1) % options.rowStride;
    }
    const VkfReferenceInputs inputs = referenceInputs(tensors);
    auto verdict = make<VkfVerdict>();
    VkfMessage message{};
    check(vkfReferenceVerify(&problem, &inputs, &options, tensors.o, tensors.lse, &verdict, &message), message);
    return verdict;
}

VkfProbabilitiesVerdict verifyProbabilities(const VkfProblem& problem, const host::HostTensors& tensors,
                                            const VkfPlanInfo& plan) {
    Progress progress("checking probabilities on the CPU");
    const VkfReferenceOptions options = referenceOptions(plan, progress);
    const VkfReferenceInputs inputs = referenceInputs(tensors);
    auto verdict = make<VkfProbabilitiesVerdict>();
    VkfMessage message{};
    check(vkfReferenceVerifyProbabilities(&problem, &inputs, &options, tensors.probabilities, &verdict, &message),
          message);
    return verdict;
}

std::string errorText(double error, double bound) { return fmt::format("error {:.2g}, bound {:.2g}", error, bound); }

std::string verdictText(const VkfVerdict& verdict, bool lse) {
    std::string text =
        fmt::format("o       {} (rms of o {:.2g})\n", errorText(verdict.oError, verdict.oBound), verdict.oRms);
    if (lse)
        text += fmt::format("lse     {}\n", errorText(verdict.lseError, verdict.lseBound));
    return text;
}

void requirePassed(const VkfVerdict& verdict, const std::string& what) {
    if (verdict.passed)
        return;
    if (verdict.oError > verdict.oBound || verdict.lseError <= verdict.lseBound)
        fail("{}: wrong result: o differs from the reference by {:.3g}, the bound is {:.3g} (element {}: "
             "{:.9g}, reference {:.9g})",
             what, verdict.oError, verdict.oBound, verdict.worstElement, verdict.worstValue, verdict.worstReference);
    fail("{}: wrong result: lse differs from the reference by {:.3g}, the bound is {:.3g}", what, verdict.lseError,
         verdict.lseBound);
}

void requirePassed(const VkfProbabilitiesVerdict& verdict, const std::string& what) {
    if (!verdict.passed)
        fail("{}: wrong result: probabilities differ from the reference by {:.3g}, the bound is {:.3g} (element {}: "
             "{:.9g}, reference {:.9g})",
             what, verdict.error, verdict.bound, verdict.worstElement, verdict.worstValue, verdict.worstReference);
}

} // namespace vkf::tools
