// SPDX-License-Identifier: MIT
#include "bench_measure.hpp"

#include "block_mask.hpp"
#include "error.hpp"
#include "verdict.hpp"

namespace vkf::tools {

namespace {

// The longest run that is submitted as a whole, far from any watchdog.
constexpr double longestSubmission = 0.5;

double submitSteps(host::Device& device, VkfPlan plan, const VkfBindings& bindings, uint32_t first, uint32_t count) {
    return device.submit([&](VkCommandBuffer commands) {
        VkfMessage message{};
        const VkfResult result = vkfCmdAttentionSteps(commands, plan, &bindings, first, count, &message);
        if (result != VKF_SUCCESS)
            throw host::Error(result, message.text);
    });
}

} // namespace

void requireTime(double seconds, const host::Device& device) {
    if (seconds <= 0)
        fail("no time was measured: the problem is empty, or the queue of {} has no timestamps", device.summary().name);
}

double runStep(host::Device& device, const host::Plan& plan, const VkfBindings& bindings, uint32_t step) {
    return submitSteps(device, plan.handle(), bindings, step, 1);
}

bool isOfOneShape(VkfResult result) {
    return result == VKF_ERROR_UNSUPPORTED || result == VKF_ERROR_OUT_OF_DEVICE_MEMORY;
}

double PlanRuns::run(const VkfBindings& bindings) {
    if (oneSubmission_)
        return submitSteps(*device_, plan_, bindings, 0, steps_);
    double seconds = 0;
    for (uint32_t step = 0; step < steps_; ++step)
        seconds += submitSteps(*device_, plan_, bindings, step, 1);
    oneSubmission_ = seconds <= longestSubmission;
    return seconds;
}

BenchResult measureProblem(host::Device& device, BenchMemory& memory, const VkfProblem& problem,
                           const MeasureOptions& options, const std::function<void()>& afterRun) {
    const host::Plan plan(device, problem);
    memory.prepare(problem, plan.info().scratchBytes, mostBufferSets, options.blockDensity);
    BenchResult result;
    result.problem = problem;
    result.plan = plan.info();
    result.operations = result.plan.operations;
    if (problem.maskBlock != 0)
        result.operations = visiblePairs(problem, memory.blockMask()) * 2.0 *
                            (static_cast<double>(problem.headDim) + vkfTensorLayout(&problem, VKF_TENSOR_V).dim);
    result.blockDensity = options.blockDensity;
    result.sets = memory.sets();
    result.tensorBytes = memory.tensorBytes();
    PlanRuns runs(device, plan.handle(), plan.info().stepCount);
    runs.run(memory.bindings(0)); // step by step, safe on any device
    result.oneSubmission = runs.oneSubmission();

    size_t set = 0;
    const auto run = [&] {
        set = (set + 1) % memory.sets();
        const double seconds = runs.run(memory.bindings(set));
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
