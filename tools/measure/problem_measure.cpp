// SPDX-License-Identifier: MIT
#include "measure/problem_measure.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cli/program/help.hpp"
#include "cli/verdict.hpp"
#include "tensors/block_mask.hpp"

namespace vkf::tools {

namespace {

// Runs up to this many seconds are one submission. That is far below any watchdog's limit.
constexpr double longestSubmission = 0.5;

void recordSteps(VkCommandBuffer commands, VkfPlan plan, const VkfBindings& bindings, uint32_t first, uint32_t count) {
    VkfMessage message{};
    const VkfResult result = vkfCmdAttentionSteps(commands, plan, &bindings, first, count, &message);
    if (result != VKF_SUCCESS)
        throw host::Error(result, message.text);
}

} // namespace

void addMeasureOptions(CLI::App& command, MeasureOptions& options) {
    const HelpGroup group(command, measureGroup);
    command.add_option("--runs", options.timing.maxRuns, "maximum number of runs of each call")->capture_default_str();
    command.add_option("--seconds", options.timing.seconds, secondsHelp)->capture_default_str();
    command.add_option("--sample-rows", options.sampleRows, "number of rows of each head to check; 0 = all")
        ->capture_default_str();
}

void requireTime(double seconds, const host::Device& device) {
    if (seconds <= 0)
        throw host::Error(
            VKF_ERROR_UNSUPPORTED,
            fmt::format("no time was measured: the problem is empty, or the queue of {} has no timestamps",
                        device.summary().name));
}

double runStep(host::Device& device, const host::Plan& plan, const VkfBindings& bindings, uint32_t step) {
    return device.submit([&](VkCommandBuffer commands) { recordSteps(commands, plan.handle(), bindings, step, 1); });
}

bool isOfOneShape(VkfResult result) {
    return result == VKF_ERROR_UNSUPPORTED || result == VKF_ERROR_INVALID_ARGUMENT ||
           result == VKF_ERROR_OUT_OF_DEVICE_MEMORY;
}

ClockSample StepRuns::run(const Record& record) {
    const auto submit = [&](uint32_t first, uint32_t count) {
        return clock_->submit([&](VkCommandBuffer commands) { record(commands, first, count); });
    };
    if (oneSubmission_)
        return submit(0, steps_);
    ClockSample all;
    for (uint32_t step = 0; step < steps_; ++step) {
        const ClockSample one = submit(step, 1);
        all.value += one.value;
        all.clock = step == 0 ? one.clock : std::min(all.clock, one.clock);
    }
    oneSubmission_ = all.value <= longestSubmission;
    return all;
}

ClockSample PlanRuns::run(const VkfBindings& bindings) {
    return runs_.run([&](VkCommandBuffer commands, uint32_t first, uint32_t count) {
        recordSteps(commands, plan_, bindings, first, count);
    });
}

BenchResult measureProblem(host::Device& device, GpuClock& clock, BenchMemory& memory, const VkfProblem& problem,
                           const MeasureOptions& options, const std::function<void()>& afterRun) {
    const host::Plan plan(device, problem);
    memory.prepare(problem, plan.info().scratchBytes, mostBufferSets, options.blockDensity);
    BenchResult result;
    result.problem = problem;
    result.plan = plan.info();
    result.operations = result.plan.operations;
    if (has(problem, VKF_USE_BLOCK_MASK))
        result.operations = visiblePairs(problem, memory.blockMask()) * 2.0 *
                            (static_cast<double>(problem.headDim) + vkf::layoutOf(problem, VKF_TENSOR_V).dim);
    result.blockDensity = options.blockDensity;
    result.sets = memory.sets();
    result.tensorBytes = memory.tensorBytes();
    PlanRuns runs(clock, plan.handle(), plan.info().stepCount);
    runs.run(memory.bindings(0)); // the first run goes step by step, which is safe on any device
    result.oneSubmission = runs.oneSubmission();

    size_t set = 0;
    const auto run = [&] {
        set = (set + 1) % memory.sets();
        const ClockSample sample = runs.run(memory.bindings(set));
        afterRun();
        return sample;
    };
    result.timing = measure(run, options.timing, clock.highest());
    requireTime(result.timing.median, device);
    // Checks the set of the last timed run, so the check is about what was timed.
    result.verdict = verifyResult(problem, memory.download(set), result.plan, options.sampleRows);
    return result;
}

} // namespace vkf::tools
