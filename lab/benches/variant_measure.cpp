// SPDX-License-Identifier: MIT
#include "benches/variant_measure.hpp"

#include "cli/verdict.hpp"
#include "measure/problem_measure.hpp"

namespace vkf::tools {

namespace {

VariantCall callOf(const Variant& variant, const VkfProblem& plain) {
    VariantCall call{plain};
    variant.apply(call);
    return call;
}

// A call with its plan and its buffers. It can run any number of times.
class VariantRuns {
public:
    VariantRuns(host::Device& device, GpuClock& clock, BenchMemory& memory, Workload workload, const VariantCall& call)
        : call_(call), memory_(memory), plan_(device, call.problem), buffers_(device, call.extras),
          whole_(clock, plan_.handle(), plan_.info().stepCount) {
        const bool chained = workload == Workload::decode;
        memory_.prepare(call.problem, plan_.info().scratchBytes, chained ? maxChainSets : maxBufferSets);
        whole_.run(bindings(0)); // the first run goes step by step, which is safe on any device
        if (!chained)
            return;
        chain_.emplace(device, clock, memory_.sets(), [this](VkCommandBuffer commands, size_t set) {
            recordAttention(commands, plan_.handle(), bindings(set));
        });
        calls_ = chain_->callsOfSubmission();
    }
    VariantRuns(const VariantRuns&) = delete;
    VariantRuns& operator=(const VariantRuns&) = delete;

    ClockSample run() {
        if (chain_)
            return chain_->run(calls_);
        set_ = (set_ + 1) % memory_.sets();
        return whole_.run(bindings(set_));
    }

    size_t calls() const { return calls_; }
    VkfPath path() const { return plan_.info().path; }

    double operations() const {
        const VkfProblem& problem = call_.problem;
        if (call_.pairsOfHead == 0)
            return plan_.info().operations;
        return call_.pairsOfHead * 2 * problem.batch * problem.queryHeads *
               (static_cast<double>(problem.headDim) + vkf::layoutOf(problem, VKF_TENSOR_V).dim);
    }

    // Runs once more, into outputs that hold NaN, and verifies that run.
    BenchResult checked(const Timing& timing, uint32_t sampleRows) {
        BenchResult result;
        result.problem = call_.problem;
        result.plan = plan_.info();
        result.operations = operations();
        result.timing = timing;
        result.oneSubmission = whole_.oneSubmission();
        result.sets = memory_.sets();
        result.tensorBytes = memory_.tensorBytes();
        memory_.poison(0);
        whole_.run(bindings(0));
        host::HostTensors tensors = memory_.download(0);
        call_.extras.addTo(tensors);
        result.verdict = verifyResult(call_.problem, tensors, result.plan, sampleRows);
        return result;
    }

private:
    VkfBindings bindings(size_t set) const {
        VkfBindings bindings = memory_.bindings(set);
        buffers_.addTo(bindings);
        return bindings;
    }

    const VariantCall& call_;
    BenchMemory& memory_;
    host::Plan plan_;
    ExtraBuffers buffers_;
    PlanRuns whole_;
    std::optional<CallChain> chain_; // only for short calls
    size_t calls_ = 1;
    size_t set_ = 0;
};

} // namespace

VariantResult VariantMeasure::measure(const Variant& variant, const VkfProblem& plain,
                                      const std::function<void()>& afterRun) {
    const VariantCall call = callOf(variant, plain);
    VariantRuns runs(device_, clock_, memory_, variant.workload, call);
    std::optional<VariantCall> baseCall;
    std::optional<VariantRuns> baseRuns;
    std::vector<std::function<ClockSample()>> turns;
    if (variant.base != nullptr) {
        baseCall = callOf(variantNamed(variant.base), plain);
        baseCall->problem.path = runs.path(); // AUTO may have another path for it
        baseRuns.emplace(device_, clock_, baseMemory_, variant.workload, *baseCall);
        turns.emplace_back([&] { return baseRuns->run(); });
    }
    turns.emplace_back([&] {
        const ClockSample sample = runs.run();
        afterRun();
        return sample;
    });
    const std::vector<Timing> timings = measureInTurn(turns, options_.timing, clock_.highest());
    requireTime(timings.back().median, device_);
    VariantResult result{runs.checked(timings.back(), options_.sampleRows), runs.calls()};
    if (baseRuns) {
        requireTime(timings.front().median, device_);
        result.base = timings.front();
        result.baseOperations = baseRuns->operations();
    }
    return result;
}

} // namespace vkf::tools
