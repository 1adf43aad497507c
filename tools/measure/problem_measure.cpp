// SPDX-License-Identifier: MIT
#include "measure/problem_measure.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cli/error.hpp"
#include "cli/options.hpp"
#include "cli/program/help.hpp"
#include "cli/verdict.hpp"
#include "measure/compute_shader.hpp"
#include "model/plan_traffic.hpp"

namespace vkf::tools {

namespace {

// Runs up to this many seconds are one submission. That is far below any watchdog's limit.
constexpr double longestSubmission = 0.5;

void recordSteps(VkCommandBuffer commands, VkfPlan plan, const VkfBindings& bindings, uint32_t first, uint32_t count) {
    requireSuccess(vkfCmdAttentionSteps, commands, plan, &bindings, first, count);
}

constexpr double submissionSeconds = 0.004;
constexpr size_t maxCalls = 256;

} // namespace

void addMeasureOptions(CLI::App& command, MeasureOptions& options) {
    const HelpGroup group(command, measureGroup);
    addValue(command, "--runs", options.timing.maxRuns, "maximum number of runs of each call");
    addValue(command, "--seconds", options.timing.seconds, secondsHelp);
    addValue(command, "--sample-rows", options.sampleRows, "number of rows of each head to check; 0 = all");
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

size_t timeRuns(host::Device& device, GpuClock& clock, uint32_t steps, const RecordSteps& record,
                const MeasureOptions& options, const std::function<void()>& afterRun, TimedResult& result) {
    StepRuns runs(clock, steps);
    size_t set = 0;
    const auto runOnce = [&] {
        return runs.run(
            [&](VkCommandBuffer commands, uint32_t first, uint32_t count) { record(commands, set, first, count); });
    };
    runOnce(); // the first run goes step by step, which is safe on any device
    result.oneSubmission = runs.oneSubmission();
    const auto run = [&] {
        set = (set + 1) % result.sets;
        const ClockSample sample = runOnce();
        afterRun();
        return sample;
    };
    result.timing = measure(run, options.timing, clock.highest());
    requireTime(result.timing.median, device);
    return set;
}

BenchResult measureProblem(host::Device& device, GpuClock& clock, BenchMemory& memory, const VkfProblem& problem,
                           const MeasureOptions& options, const std::function<void()>& afterRun) {
    const host::Plan plan(device, problem);
    memory.prepare(problem, plan.info().scratchBytes, maxBufferSets, options.blockDensity);
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
    const auto record = [&](VkCommandBuffer commands, size_t set, uint32_t first, uint32_t count) {
        recordSteps(commands, plan.handle(), memory.bindings(set), first, count);
    };
    const size_t set = timeRuns(device, clock, plan.info().stepCount, record, options, afterRun, result);
    result.verdict = verifyResult(problem, memory.download(set), result.plan, options.sampleRows);
    return result;
}

ClockSample CallChain::run(size_t calls) {
    ClockSample sample = clock_.submit([&](VkCommandBuffer commands) {
        for (size_t i = 0; i < calls; ++i) {
            next_ = (next_ + 1) % sets_;
            record_(commands, next_);
            recordComputeBarrier(device_, commands);
        }
    });
    sample.value /= static_cast<double>(calls);
    return sample;
}

size_t CallChain::callsOfSubmission() {
    run(1);
    const double estimate = std::max(run(4).value, 1e-9);
    return static_cast<size_t>(std::clamp(submissionSeconds / estimate, 1.0, double{maxCalls}));
}

void recordAttention(VkCommandBuffer commands, VkfPlan plan, const VkfBindings& bindings) {
    requireSuccess(vkfCmdAttention, commands, plan, &bindings);
}

} // namespace vkf::tools
