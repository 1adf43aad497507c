// SPDX-License-Identifier: MIT
#include "bench/function_measure.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "cli/verdict.hpp"
#include "measure/own_objects.hpp"

namespace vkf::tools {

namespace {

using WallClock = std::chrono::steady_clock;

double wallSecondsSince(WallClock::time_point start) {
    return std::chrono::duration<double>(WallClock::now() - start).count();
}

// A call with its plan and its optional inputs. The tensors are those of a BenchMemory that calls share.
class CallRuns {
public:
    CallRuns(host::Device& device, GpuClock& clock, const BenchMemory& memory, FunctionCall call)
        : device_(device), memory_(memory), call_(std::move(call)), plan_(device, call_.problem),
          extras_(device, call_.extras), runs_(clock, plan_.handle(), plan_.info().stepCount) {
        if (has(call_.problem, VKF_USE_TILE_MAP))
            tileMap_ = device.createBuffer(plan_.info().tileMapBytes);
    }
    CallRuns(const CallRuns&) = delete;
    CallRuns& operator=(const CallRuns&) = delete;

    const VkfPlanInfo& info() const { return plan_.info(); }
    const FunctionCall& call() const { return call_; }
    bool oneSubmission() const { return runs_.oneSubmission(); }

    // The memory is prepared now. The first run goes step by step, which is safe on any device.
    void begin() {
        if (tileMap_.size() != 0)
            device_.submit([this](VkCommandBuffer commands) { recordMap(commands, 0); });
        runs_.run(bindings(0));
    }

    ClockSample run() {
        set_ = (set_ + 1) % memory_.sets();
        return runs_.run(bindings(set_));
    }

    void recordMap(VkCommandBuffer commands, size_t set) const {
        VkfMessage message{};
        const VkfBindings all = bindings(set);
        check(vkfCmdMapTiles(commands, plan_.handle(), &all, &message), message);
    }

    void runOn(size_t set) { runs_.run(bindings(set)); }

private:
    VkfBindings bindings(size_t set) const {
        VkfBindings bindings = memory_.bindings(set);
        extras_.addTo(bindings);
        bindings.tileMap = tileMap_.binding();
        return bindings;
    }

    host::Device& device_;
    const BenchMemory& memory_;
    FunctionCall call_;
    host::Plan plan_;
    ExtraBuffers extras_;
    PlanRuns runs_;
    host::Buffer tileMap_; // only with VKF_USE_TILE_MAP
    size_t set_ = 0;
};

using OptionalRuns = std::unique_ptr<CallRuns>;

// The calls of a row. Absent ones are null.
struct RowRuns {
    OptionalRuns own, keptMap, builtIn, builtInAuto, mask;

    std::vector<CallRuns*> all() const {
        std::vector<CallRuns*> present;
        for (CallRuns* one : {own.get(), keptMap.get(), builtIn.get(), builtInAuto.get(), mask.get()})
            if (one != nullptr)
                present.push_back(one);
        return present;
    }
};

// Sets buffers of all calls up, and runs each of them once.
void begin(const RowRuns& runs, BenchMemory& memory) {
    const std::vector<CallRuns*> all = runs.all();
    uint64_t scratch = 0;
    for (const CallRuns* one : all)
        scratch = std::max<uint64_t>(scratch, one->info().scratchBytes);
    memory.prepare(runs.own->call().problem, scratch, maxBufferSets);
    for (CallRuns* one : all)
        one->begin();
}

ClockSample timeOfMap(host::Device& device, GpuClock& clock, const BenchMemory& memory, const CallRuns& runs) {
    CallChain chain(device, clock, memory.sets(),
                    [&runs](VkCommandBuffer commands, size_t set) { runs.recordMap(commands, set); });
    return chain.run(chain.callsOfSubmission());
}

// Runs the call once more, into outputs that hold NaN, and verifies that run.
BenchResult checked(CallRuns& runs, BenchMemory& memory, const Timing& timing, double pairs, uint32_t sampleRows,
                    const VkfReferenceFunctions& formulas) {
    const VkfProblem& problem = runs.call().problem;
    BenchResult result;
    result.problem = problem;
    result.plan = runs.info();
    result.operations = result.plan.operations;
    if (pairs != 0)
        result.operations = pairs * 2 * problem.batch * problem.queryHeads *
                            (static_cast<double>(problem.headDim) + vkf::layoutOf(problem, VKF_TENSOR_V).dim);
    result.timing = timing;
    result.oneSubmission = runs.oneSubmission();
    result.sets = memory.sets();
    result.tensorBytes = memory.tensorBytes();
    memory.poison(0);
    runs.runOn(0);
    host::HostTensors tensors = memory.download(0);
    runs.call().extras.addTo(tensors);
    result.verdict = verifyResult(problem, tensors, result.plan, sampleRows, &formulas);
    return result;
}

// The calls take turns. Returns their times in the order of RowRuns::all.
std::vector<Timing> timeInTurn(const RowRuns& runs, const TimingOptions& options, const GpuClock& clock,
                               const std::function<void()>& afterRun) {
    std::vector<std::function<ClockSample()>> turns;
    for (CallRuns* one : runs.all())
        turns.emplace_back([one, &afterRun] {
            const ClockSample sample = one->run();
            afterRun();
            return sample;
        });
    return measureInTurn(turns, options, clock.highest());
}

// The inputs of a backward pass besides its tensors.
struct BackwardExtras {
    BackwardExtras(host::Device& device, const CallExtras& extras) : onHost(extras), onDevice(device, extras) {}

    BackwardCallInputs inputs(const VkfReferenceFunctions* formulas) const {
        return {[this](VkfBindings& bindings) { onDevice.addTo(bindings); },
                [this](host::HostTensors& tensors) { onHost.addTo(tensors); }, formulas};
    }

    const CallExtras& onHost;
    ExtraBuffers onDevice;
};

} // namespace

FunctionResult FunctionMeasure::measure(const BenchFunction& function, const VkfProblem& plain, bool backward,
                                        const std::function<void()>& afterRun) {
    FunctionNumbers numbers = numbersOf(plain);
    VkfReferenceFunctions formulas = function.formulas;
    formulas.user = &numbers;
    FunctionResult row;
    const functions::Source source = sourceOf(function, numbers);
    const functions::Functions compiled = functions::compile(source);
    const auto runsOf = [&](FunctionCall call) {
        return std::make_unique<CallRuns>(device_, clock_, memory_, std::move(call));
    };

    RowRuns runs;
    const WallClock::time_point beforePlan = WallClock::now();
    runs.own = runsOf(functionCall(function, numbers, plain, compiled.handle()));
    row.planSeconds = wallSecondsSince(beforePlan);
    const VkfPath path = runs.own->info().path;
    row.compiledKernel = functions::kernelsOf(vkfPathName(path)).front();
    const WallClock::time_point beforeKernel = WallClock::now();
    functions::compileToFile(source, {row.compiledKernel});
    row.compileSeconds = wallSecondsSince(beforeKernel);

    VkfProblem onPath = plain;
    onPath.path = path; // AUTO may have another path for other features
    if (runs.own->info().tileMapBytes != 0) {
        FunctionCall kept = functionCall(function, numbers, onPath, compiled.handle());
        enable(kept.problem, VKF_USE_TILE_MAP);
        runs.keptMap = runsOf(std::move(kept));
    }
    if (function.useBuiltIn != nullptr) {
        runs.builtIn = runsOf(builtInCall(function, numbers, onPath));
        VkfProblem automatic = plain;
        automatic.path = VKF_PATH_AUTO;
        runs.builtInAuto = runsOf(builtInCall(function, numbers, automatic));
        if (runs.builtInAuto->info().path == path)
            runs.builtInAuto = nullptr;
    }
    if (function.comparesToMask)
        runs.mask = runsOf(maskCall(function, numbers, onPath));

    begin(runs, memory_);
    const std::vector<Timing> timings = timeInTurn(runs, options_.timing, clock_, afterRun);
    requireTime(timings.front().median, device_);
    size_t next = 1;
    const auto compared = [&](const OptionalRuns& one) {
        return one ? std::optional(ComparedCall{one->info().path, timings[next++]}) : std::nullopt;
    };
    if (runs.keptMap) {
        row.keptMap = timings[next++];
        row.makeMap = timeOfMap(device_, clock_, memory_, *runs.keptMap);
    }
    row.builtIn = compared(runs.builtIn);
    row.builtInAuto = compared(runs.builtInAuto);
    row.mask = compared(runs.mask);
    row.result = checked(*runs.own, memory_, timings.front(), keptPairs(function, numbers, plain), options_.sampleRows,
                         formulas);
    if (backward)
        row.backward = measureBackwardOf(function, numbers, plain, compiled.handle(), afterRun);
    return row;
}

FunctionBackward FunctionMeasure::measureBackwardOf(const BenchFunction& function, FunctionNumbers& numbers,
                                                    VkfProblem plain, VkfFunctions handle,
                                                    const std::function<void()>& afterRun) {
    VkfReferenceFunctions formulas = function.formulas;
    formulas.user = &numbers;
    if (plain.path != VKF_PATH_SCALAR && plain.path != VKF_PATH_COOPMAT)
        plain.path = VKF_PATH_AUTO; // the backward pass has no other path
    const auto timed = [&](const FunctionCall& call, const VkfReferenceFunctions* ofCall) {
        const BackwardExtras extras(device_, call.extras);
        return measureBackward(device_, clock_, backwardMemory_, call.problem, options_, afterRun,
                               extras.inputs(ofCall));
    };
    FunctionBackward row{timed(functionCall(function, numbers, plain, handle), &formulas)};
    plain.path = row.result.info.path;
    const auto compared = [&](const FunctionCall& call) {
        return ComparedCall{plain.path, timed(call, nullptr).timing};
    };
    if (function.useBuiltIn != nullptr)
        row.builtIn = compared(builtInCall(function, numbers, plain));
    if (function.comparesToMask)
        row.mask = compared(maskCall(function, numbers, plain));
    return row;
}

} // namespace vkf::tools
