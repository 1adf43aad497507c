// SPDX-License-Identifier: MIT
#include "measure/backward_measure.hpp"

#include <algorithm>

#include "cli/error.hpp"
#include "cli/verdict.hpp"
#include "measure/own_objects.hpp"
#include "measure/problem_memory.hpp"
#include "tensors/random_tensors.hpp"
#include "vkflash/vkflash.hpp"

namespace vkf::tools {

namespace {

constexpr std::array<VkfBackwardRole, 3> backwardRoles = {VKF_BACKWARD_DQ, VKF_BACKWARD_DK, VKF_BACKWARD_DV};

// Other numbers than those of q, k and v.
constexpr uint64_t doutSeed = 4;

uint64_t storedBytes(const VkfTensorLayout& layout) { return vkfStoredBytes(layout.type, layout.elements); }

} // namespace

void BackwardMemory::prepare(const VkfBackwardProblem& problem, uint64_t scratchBytes, size_t maxSets,
                             const ExtraBuffers* extras) {
    VkfProblem forward = *problem.forward;
    forward.path = VKF_PATH_AUTO;
    const host::Plan plan(device_, forward);
    forwardPlan_ = plan.info();
    forward_.prepare(forward, plan.info().scratchBytes, maxSets);
    doutLayout_ = layoutOf(problem, VKF_BACKWARD_DOUT);
    block_ = normalBlock(doutLayout_.type, std::min(repeatedOf(doutLayout_.type), doutLayout_.elements), doutSeed);
    tensorBytes_ = forward_.tensorBytes() + storedBytes(doutLayout_);
    for (size_t i = 0; i < layouts_.size(); ++i) {
        layouts_[i] = layoutOf(problem, backwardRoles[i]);
        tensorBytes_ += storedBytes(layouts_[i]);
    }
    sets_.resize(std::max(sets_.size(), sets()));
    for (size_t i = 0; i < sets(); ++i) {
        VkfBindings call = forward_.bindings(i);
        if (extras != nullptr)
            extras->addTo(call);
        for (uint32_t step = 0; step < plan.info().stepCount; ++step)
            runStep(device_, plan, call, step);
        fill(i, scratchBytes, call);
    }
}

void BackwardMemory::fill(size_t index, uint64_t scratchBytes, const VkfBindings& call) {
    Set& set = sets_[index];
    ensureRoom(device_, set.dout, storedBytes(doutLayout_));
    repeat(device_, block_, set.dout, storedBytes(doutLayout_));
    for (size_t i = 0; i < layouts_.size(); ++i) {
        ensureRoom(device_, set.gradients[i], storedBytes(layouts_[i]));
        device_.fill(set.gradients[i], notANumber);
    }
    ensureRoom(device_, set.scratch, scratchBytes);
    set.call = call;
    set.bindings = make<VkfBackwardBindings>();
    set.bindings.forward = &set.call;
    set.bindings.dout = set.dout.binding();
    set.bindings.dq = set.gradients[0].binding();
    set.bindings.dk = set.gradients[1].binding();
    set.bindings.dv = set.gradients[2].binding();
    set.bindings.scratch = set.scratch.binding();
}

host::HostGradients BackwardMemory::downloadGradients(size_t set) {
    dout_.resize(storedBytes(doutLayout_));
    repeatBlock(block_, 0, dout_);
    for (size_t i = 0; i < layouts_.size(); ++i) {
        gradients_[i].resize(storedBytes(layouts_[i]));
        device_.download(gradients_[i].data(), sets_[set].gradients[i], gradients_[i].size());
    }
    host::HostGradients gradients;
    gradients.dout = dout_.data();
    gradients.dq = gradients_[0].data();
    gradients.dk = gradients_[1].data();
    gradients.dv = gradients_[2].data();
    return gradients;
}

BackwardResult measureBackward(host::Device& device, GpuClock& clock, BackwardMemory& memory, const VkfProblem& forward,
                               const MeasureOptions& options, const std::function<void()>& afterRun,
                               const CallExtras& extras, const VkfReferenceFunctions* formulas) {
    BackwardResult result;
    result.problem = forward;
    enable(result.problem, VKF_USE_LSE);
    VkfBackwardProblem problem = gradientsOf(result.problem);
    problem.maxScratchBytes = options.scratchBytes;
    const Backward gradient = createBackward(device.context(), problem);
    result.info = backwardInfo(gradient);
    const ExtraBuffers extraBuffers(device, extras);
    memory.prepare(problem, result.info.scratchBytes, maxBufferSets, &extraBuffers);
    result.operations = result.info.operations;
    result.sets = memory.sets();
    result.tensorBytes = memory.tensorBytes();
    const auto record = [&](VkCommandBuffer commands, size_t set, uint32_t first, uint32_t count) {
        requireSuccess(vkfCmdBackwardSteps, commands, gradient.get(), &memory.bindings(set), first, count);
    };
    const size_t set = timeRuns(device, clock, result.info.stepCount, record, options, afterRun, result);
    // Gradients of a wrong o would be right for that o, so o is checked too.
    host::HostTensors tensors = memory.downloadForward(set);
    extras.addTo(tensors);
    requirePassed(verifyResult(result.problem, tensors, memory.forwardPlan(), options.sampleRows, formulas),
                  memory.forwardPlan().description);
    result.verdict =
        verifyGradients(problem, tensors, memory.downloadGradients(set), result.info, options.sampleRows, formulas);
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
