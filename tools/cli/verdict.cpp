// SPDX-License-Identifier: MIT
#include "cli/verdict.hpp"

#include <algorithm>
#include <array>

#include "cli/error.hpp"
#include "cli/progress.hpp"
#include "vkflash/vkflash.hpp"

namespace vkf::tools {

namespace {

VkfReferenceOptions referenceOptions(VkfType productType, Progress& progress) {
    auto options = make<VkfReferenceOptions>();
    options.productType = productType;
    options.progress = [](void* user, double share) { static_cast<Progress*>(user)->update(share); };
    options.user = &progress;
    return options;
}

VkfReferenceOptions referenceOptions(const VkfPlanInfo& plan, Progress& progress) {
    VkfReferenceOptions options = referenceOptions(plan.productType, progress);
    options.tileKeys = plan.tileKeys;
    return options;
}

// Selects about `sample` rows of each head. The stride is odd, so the rows have different positions in the kernel's
// tiles. The last row is included, because it sees the most keys.
void sampleEvenly(VkfReferenceOptions& options, uint32_t rows, uint32_t sample) {
    options.rowStride = std::max(1U, rows / sample) | 1U;
    options.rowBegin = rows == 0 ? 0 : (rows - 1) % options.rowStride;
}

struct NamedGradientError {
    const char* name;
    const VkfGradientError& error;
};

std::array<NamedGradientError, 5> errorsOf(const VkfBackwardVerdict& verdict) {
    return {{{"dq", verdict.dq},
             {"dk", verdict.dk},
             {"dv", verdict.dv},
             {"dbias", verdict.dbias},
             {"dsinks", verdict.dsinks}}};
}

void check(VkfResult result, const VkfMessage& message) {
    if (result != VKF_SUCCESS)
        throw host::Error(result, fmt::format("the CPU reference failed: {}", message.text));
}

} // namespace

VkfReferenceInputs referenceInputs(const host::HostTensors& tensors, const VkfReferenceFunctions* functions) {
    auto inputs = make<VkfReferenceInputs>();
    inputs.q = tensors.q;
    inputs.k = tensors.k;
    inputs.v = tensors.v;
#define VKF_REFER(NAME, member) inputs.member = tensors.member;
    VKF_FOR_EACH_OPTIONAL_INPUT(VKF_REFER)
#undef VKF_REFER
    inputs.functions = functions;
    return inputs;
}

VkfVerdict verifyResult(const VkfProblem& problem, const host::HostTensors& tensors, const VkfPlanInfo& plan,
                        uint32_t sampleRows, const VkfReferenceFunctions* functions) {
    Progress progress("checking on the CPU");
    VkfReferenceOptions options = referenceOptions(plan, progress);
    if (sampleRows != 0)
        sampleEvenly(options, problem.queryRows, sampleRows);
    const VkfReferenceInputs inputs = referenceInputs(tensors, functions);
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

VkfBackwardVerdict verifyGradients(const VkfBackwardProblem& problem, const host::HostTensors& tensors,
                                   const host::HostGradients& gradients, const VkfBackwardInfo& info,
                                   uint32_t sampleRows, const VkfReferenceFunctions* functions) {
    Progress progress("checking gradients on the CPU");
    VkfReferenceOptions options = referenceOptions(info.productType, progress);
    if (sampleRows != 0)
        sampleEvenly(options, problem.forward->queryRows, sampleRows);
    const VkfReferenceInputs inputs = referenceInputs(tensors, functions);
    auto backwardInputs = make<VkfReferenceBackwardInputs>();
    backwardInputs.dout = gradients.dout;
    backwardInputs.o = tensors.o;
    backwardInputs.lse = tensors.lse;
    backwardInputs.dlse = gradients.dlse;
    auto outputs = make<VkfBackwardOutputs>();
    outputs.dq = gradients.dq;
    outputs.dk = gradients.dk;
    outputs.dv = gradients.dv;
    outputs.dbias = options.rowStride > 1 ? nullptr : gradients.dbias;
    outputs.dsinks = gradients.dsinks;
    auto verdict = make<VkfBackwardVerdict>();
    VkfMessage message{};
    check(vkfReferenceVerifyBackward(&problem, &inputs, &backwardInputs, &options, &outputs, &verdict, &message),
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

std::string verdictText(const VkfBackwardVerdict& verdict, const host::HostGradients& gradients) {
    const std::array<const void*, 5> outputs = {gradients.dq, gradients.dk, gradients.dv, gradients.dbias,
                                                gradients.dsinks};
    const auto errors = errorsOf(verdict);
    std::string text;
    for (size_t i = 0; i < errors.size(); ++i)
        if (outputs[i] != nullptr)
            text += fmt::format("{:<8}{} (rms {:.2g})\n", errors[i].name,
                                errorText(errors[i].error.error, errors[i].error.bound), errors[i].error.rms);
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

void requirePassed(const VkfBackwardVerdict& verdict, const std::string& what) {
    for (const auto& [name, error] : errorsOf(verdict))
        if (!verdict.passed && !(error.error <= error.bound))
            fail("{}: wrong result: {} differs from the reference by {:.3g}, the bound is {:.3g} (element {}: {:.9g}, "
                 "reference {:.9g})",
                 what, name, error.error, error.bound, error.worstElement, error.worstValue, error.worstReference);
}

} // namespace vkf::tools
