// SPDX-License-Identifier: MIT
#include "bench_measure.hpp"

#include "error.hpp"
#include "verdict.hpp"

namespace vkf::tools {

namespace {

constexpr size_t mostSets = 16;

// The longest run that is submitted as a whole, far from any watchdog.
constexpr double longestSubmission = 0.5;

double submitSteps(host::Device& device, const host::Plan& plan, const VkfBindings& bindings, uint32_t first,
                   uint32_t count) {
    return device.submit([&](VkCommandBuffer commands) {
        VkfMessage message{};
        const VkfResult result = vkfCmdAttentionSteps(commands, plan.handle(), &bindings, first, count, &message);
        if (result != VKF_SUCCESS)
            throw host::Error(result, message.text);
    });
}

double runStepByStep(host::Device& device, const host::Plan& plan, const VkfBindings& bindings) {
    double seconds = 0;
    for (uint32_t step = 0; step < plan.info().stepCount; ++step)
        seconds += runStep(device, plan, bindings, step);
    return seconds;
}

} // namespace

void requireTime(double seconds, const host::Device& device) {
    if (seconds <= 0)
        fail("no time was measured: the problem is empty, or the queue of {} has no timestamps", device.summary().name);
}

double runStep(host::Device& device, const host::Plan& plan, const VkfBindings& bindings, uint32_t step) {
    return submitSteps(device, plan, bindings, step, 1);
}

BenchResult measureProblem(host::Device& device, BenchMemory& memory, const VkfProblem& problem,
                           const MeasureOptions& options, const std::function<void()>& afterRun) {
    const host::Plan plan(device, problem);
    memory.prepare(plan, mostSets);
    BenchResult result;
    result.problem = problem;
    result.plan = plan.info();
    result.operations = result.plan.operations;
    result.sets = memory.sets();
    result.tensorBytes = memory.tensorBytes();
    // Step by step is safe on any device, and tells whether the whole is.
    result.oneSubmission = runStepByStep(device, plan, memory.bindings(0)) <= longestSubmission;

    size_t set = 0;
    const auto run = [&] {
        set = (set + 1) % memory.sets();
        const VkfBindings bindings = memory.bindings(set);
        const double seconds = result.oneSubmission ? submitSteps(device, plan, bindings, 0, plan.info().stepCount)
                                                    : runStepByStep(device, plan, bindings);
        afterRun();
        return seconds;
    };
    result.timing = measure(run, options.timing);
    requireTime(result.timing.median, device);
    // The last run's set: what was timed is what is checked.
    result.verdict = verifyResult(problem, memory.download(set), result.plan, options.sampleRows);
    return result;
}

} // namespace vkf::tools
