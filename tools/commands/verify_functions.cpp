// SPDX-License-Identifier: MIT
#include "commands/verify_functions.hpp"

#include "cli/error.hpp"

#if !defined(VKFLASH_HAS_FUNCTIONS)

namespace vkf::tools {

void verifyFunctions(const FunctionChecks& /*checks*/) {
    failInput("--functions: this program was built without a compiler of functions");
}

} // namespace vkf::tools

#else

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "cli/verdict.hpp"
#include "gallery/gallery.hpp"
#include "measure/backward_measure.hpp"
#include "tensors/random_tensors.hpp"
#include "vkflash/vkflash.hpp"

namespace vkf::tools {

namespace {

VkfProblem problemOf(const FunctionChecks& checks, const Example& example, const CompiledExample& compiled) {
    auto problem = make<VkfProblem>();
    problem.batch = 2;
    problem.queryHeads = gallery::heads;
    problem.kvHeads = gallery::heads / 2;
    problem.queryRows = example.rows;
    problem.keys = example.keys;
    problem.headDim = 32;
    problem.q.type = problem.k.type = problem.v.type = problem.o.type = checks.type;
    problem.path = checks.path;
    problem.functions = compiled.handle();
    enable(problem, VKF_USE_FUNCTIONS | VKF_USE_LSE);
    return problem;
}

// The arrays that the functions read, for the tensors of a call.
void handArrays(const CompiledExample& compiled, host::HostTensors& tensors) {
    std::transform(compiled.arrays().begin(), compiled.arrays().end(), tensors.functionArrays.begin(),
                   [](const std::vector<std::byte>& array) {
                       return host::HostArray{array.data(), array.size()};
                   });
}

// Returns the end of the example's line. `tensors` has o and lse of the forward pass.
std::string checkBackward(const FunctionChecks& checks, const Example& example, const CompiledExample& compiled,
                          host::Device& device, const VkfProblem& problem, const host::HostTensors& tensors) {
    RandomGradients random(problem, checks.seed, mostScratchBytes({}));
    const host::HostGradients gradients = random.pointers();
    const host::BackwardReport report = host::backward(device, random.problem, tensors, gradients);
    const VkfBackwardVerdict verdict =
        verifyGradients(random.problem, tensors, gradients, report.info, checks.sampleRows, &compiled.formulas());
    requirePassed(verdict, example.file + ", backward pass");
    const VkfGradientError& worst = worstOf(verdict);
    return fmt::format("; backward {}, {}", vkfPathName(report.info.path), errorText(worst.error, worst.bound));
}

void checkExample(const FunctionChecks& checks, const Example& example, host::Device& device) {
    const CompiledExample compiled(example, static_cast<uint32_t>(checks.seed));
    const VkfProblem problem = problemOf(checks, example, compiled);
    VkfProblem forward = problem;
    if (checks.backward)
        forward.path = VKF_PATH_AUTO;
    RandomTensors random(forward, checks.seed);
    host::HostTensors tensors = random.pointers(forward);
    handArrays(compiled, tensors);
    const host::AttentionReport report = host::attention(device, forward, tensors);
    const VkfVerdict verdict = verifyResult(forward, tensors, report.plan, checks.sampleRows, &compiled.formulas());
    requirePassed(verdict, example.file);
    std::string text = fmt::format("{:<36}{:<10}{}", example.file, vkfPathName(report.plan.path),
                                   errorText(verdict.oError, verdict.oBound));
    if (checks.backward)
        text += checkBackward(checks, example, compiled, device, problem, tensors);
    fmt::print("{}\n", text);
    std::fflush(stdout);
}

} // namespace

void verifyFunctions(const FunctionChecks& checks) {
    host::Device device = openDevice(checks.device);
    fmt::print("device  {}\n", device.summary().name);
    for (const Example& example : examples())
        checkExample(checks, example, device);
    if (checks.device.validation)
        checkValidation(device);
    fmt::print("right\n");
}

} // namespace vkf::tools

#endif
