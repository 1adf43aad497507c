// SPDX-License-Identifier: MIT
#include "measure/gradient/gradient_measure.hpp"

#include "cli/verdict.hpp"
#include "vkflash/vkflash.hpp"

namespace vkf::tools {

namespace {

void require(VkfResult result, const VkfMessage& message) {
    if (result != VKF_SUCCESS)
        throw host::Error(result, message.text);
}

} // namespace

GradientResult measureGradient(host::Device& device, GpuClock& clock, GradientMemory& memory, const VkfProblem& forward,
                               const MeasureOptions& options, const std::function<void()>& afterRun) {
    GradientResult result;
    result.problem = forward;
    enable(result.problem, VKF_USE_LSE);
    auto problem = make<VkfBackwardProblem>();
    problem.forward = &result.problem;
    problem.dout = forward.o;
    problem.dq = forward.q;
    problem.dk = forward.k;
    problem.dv = forward.v;
    problem.maxScratchBytes = options.scratchBytes;
    VkfMessage message{};
    vkf::Backward gradient;
    require(vkfCreateBackward(device.context(), &problem, gradient.put(), &message), message);
    result.info = make<VkfBackwardInfo>();
    require(vkfGetBackwardInfo(gradient.get(), &result.info, &message), message);
    memory.prepare(problem, result.info.scratchBytes, mostBufferSets);
    result.operations = result.info.operations;
    result.sets = memory.sets();
    result.tensorBytes = memory.tensorBytes();

    StepRuns runs(clock, result.info.stepCount);
    size_t set = 0;
    const auto record = [&](VkCommandBuffer commands, uint32_t first, uint32_t count) {
        require(vkfCmdBackwardSteps(commands, gradient.get(), &memory.bindings(set), first, count, &message), message);
    };
    runs.run(record); // the first run goes step by step, which is safe on any device
    result.oneSubmission = runs.oneSubmission();
    const auto run = [&] {
        set = (set + 1) % memory.sets();
        const ClockSample sample = runs.run(record);
        afterRun();
        return sample;
    };
    result.timing = measure(run, options.timing, clock.highest());
    requireTime(result.timing.median, device);
    // Checks the set of the last timed run, so the check is about what was timed. Gradients of a wrong o would be right
    // for that o, so o is checked too.
    const host::HostTensors tensors = memory.downloadForward(set);
    requirePassed(verifyResult(result.problem, tensors, memory.forwardPlan(), options.sampleRows),
                  memory.forwardPlan().description);
    result.verdict = verifyGradients(problem, tensors, memory.downloadGradients(set), result.info, options.sampleRows);
    return result;
}

const VkfGradientError& worstOf(const VkfBackwardVerdict& verdict) {
    const VkfGradientError* worst = &verdict.dq;
    for (const VkfGradientError* error : {&verdict.dk, &verdict.dv})
        if (!(error->error * worst->bound <= worst->error * error->bound))
            worst = error;
    return *worst;
}

} // namespace vkf::tools
