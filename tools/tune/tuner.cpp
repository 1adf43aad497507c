// SPDX-License-Identifier: MIT
#include "tune/tuner.hpp"

#include <algorithm>
#include <atomic>
#include <future>
#include <optional>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "cli/error.hpp"
#include "cli/text.hpp"
#include "cli/verdict.hpp"
#include "measure/backward_measure.hpp"
#include "measure/gpu_clock.hpp"
#include "measure/own_objects.hpp"
#include "measure/problem_measure.hpp"
#include "measure/timing.hpp"
#include "tensors/random_tensors.hpp"
#include "tune/tuning_text.hpp"

namespace vkf::tools {

namespace {

// Tiles as tuning data says them: one for the forward pass, one or two for kernels of the backward pass.
using Tiles = std::vector<KernelTileText>;

// One way to compute a call. Each pass has its own handle and info.
struct TunedCall {
    Tiles tiles; // empty for the built-in choice
    std::vector<ClockSample> times;
    Context context;
    Plan plan;
    VkfPlanInfo planInfo{};
    Backward backward;
    VkfBackwardInfo backwardInfo{};
    // What infos of both passes say.
    VkfPath path = VKF_PATH_AUTO;
    bool tuned = false;
    std::string tile;     // as tuning data says it
    std::string tileText; // for people
    uint64_t scratchBytes = 0;
    std::optional<StepRuns> runs;
};

// Number of tiles of the first comparison that enter the second one with other numbers of splits.
constexpr size_t maxFinalists = 3;
// A tile whose first runs take this many times as long as the fastest tile is not run again.
constexpr double hopeless = 1.4;
// In the comparison of all tiles, the best one took this many times as long as it may take to be faster than the
// built-in one by the margin. A comparison of the two alone is not needed then.
constexpr double unlikely = 1.08;

using Calls = std::vector<TunedCall*>;

// Runs in the order of the list, then in the reverse order, and so on. Rising or falling clocks then favour no tile.
template <typename Function> void toAndFro(const Calls& calls, size_t round, const Function& function) {
    for (size_t i = 0; i < calls.size(); ++i)
        function(*calls[round % 2 == 0 ? i : calls.size() - 1 - i]);
}

// Calls make(0) to make(count - 1) from several threads, because compilers are slow. Rethrows what a call throws.
void makeAll(size_t count, const std::function<void(size_t)>& make) {
    std::atomic<size_t> next = 0;
    const auto work = [&] {
        for (size_t i = next++; i < count; i = next++)
            make(i);
    };
    std::vector<std::future<void>> workers;
    for (size_t i = 0; i < std::clamp(std::thread::hardware_concurrency(), 1U, 16U); ++i)
        workers.push_back(std::async(std::launch::async, work));
    for (std::future<void>& worker : workers)
        worker.wait();
    for (std::future<void>& worker : workers)
        worker.get();
}

} // namespace

// What tuning does for either pass, and what differs between the passes.
class TunedPass {
public:
    TunedPass(host::Device& device, const TunerOptions& options, std::function<void()> afterRun)
        : device_(device), options_(options), afterRun_(std::move(afterRun)), clock_(device), cache_(device) {}
    virtual ~TunedPass() = default;
    TunedPass(const TunedPass&) = delete;
    TunedPass& operator=(const TunedPass&) = delete;

    TuneResult tune(const VkfProblem& problem);

protected:
    // Makes the call of a problem in its context.
    virtual void make(const VkfProblem& problem, TunedCall& call) = 0;
    // Compares candidates with the built-in call, and sorts the fastest to the front.
    virtual std::vector<TunedCall> rankedCandidates(const VkfProblem& problem, const ProblemClass& like,
                                                    TunedCall& builtIn) = 0;
    // Fills inputs, and outputs with NaN.
    virtual void prepareMemory(const VkfProblem& problem, uint64_t scratchBytes) = 0;
    virtual size_t sets() const = 0;
    virtual void record(VkCommandBuffer commands, TunedCall& call, size_t set, uint32_t first, uint32_t count) = 0;
    // Throws ProgramError if the outputs of a set are wrong.
    virtual void verify(const VkfProblem& problem, const TunedCall& call, size_t set) = 0;

    // Makes calls for the tiles that fit and differ from the built-in ones.
    std::vector<TunedCall> candidates(const VkfProblem& problem, const std::vector<Tiles>& tiles,
                                      const ProblemClass& like, const TunedCall& builtIn);
    void rank(const VkfProblem& problem, TunedCall& builtIn, std::vector<TunedCall>& candidates);
    host::Device& device() { return device_; }
    GpuClock& clock() { return clock_; }
    uint32_t sampleRows() const { return options_.sampleRows; }

private:
    void prepare(const VkfProblem& problem, const std::vector<const TunedCall*>& calls);
    ClockSample runOnce(TunedCall& call);
    void warmUp(TunedCall& call);
    void compare(const Calls& calls);
    double medianOf(const std::vector<ClockSample>& samples) const; // of those at full clock
    bool isFaster(TunedCall& candidate, TunedCall& builtIn, double margin);
    bool isTaken(TunedCall& candidate, TunedCall& builtIn);
    bool isFasterAlike(const ProblemClass& like, TunedCall& candidate, TunedCall& builtIn);
    void checkResult(const VkfProblem& problem, TunedCall& call);
    void takeIfFaster(const VkfProblem& problem, const ProblemClass& like, TunedCall& builtIn, TunedCall& best,
                      TuneResult& result);

    host::Device& device_;
    TunerOptions options_;
    std::function<void()> afterRun_;
    GpuClock clock_;
    PipelineCache cache_;
    size_t set_ = 0; // the set of buffers of the last run
};

std::vector<TunedCall> TunedPass::candidates(const VkfProblem& problem, const std::vector<Tiles>& tiles,
                                             const ProblemClass& like, const TunedCall& builtIn) {
    std::vector<TunedCall> made(tiles.size());
    makeAll(tiles.size(), [&](size_t i) {
        std::vector<std::string> entries;
        for (const KernelTileText& one : tiles[i])
            entries.push_back(like.entry(one));
        made[i].tiles = tiles[i];
        made[i].context = createContext(device_, cache_, tuningText(device_.summary(), entries));
        make(problem, made[i]);
    });
    std::erase_if(made, [&](const TunedCall& one) { return !one.tuned || one.tile == builtIn.tile; });
    return made;
}

void TunedPass::rank(const VkfProblem& problem, TunedCall& builtIn, std::vector<TunedCall>& candidates) {
    Calls all = {&builtIn};
    for (TunedCall& one : candidates)
        all.push_back(&one);
    prepare(problem, {all.begin(), all.end()});
    compare(all);
    std::stable_sort(candidates.begin(), candidates.end(),
                     [&](const TunedCall& a, const TunedCall& b) { return medianOf(a.times) < medianOf(b.times); });
}

void TunedPass::prepare(const VkfProblem& problem, const std::vector<const TunedCall*>& calls) {
    uint64_t scratchBytes = 0;
    for (const TunedCall* one : calls)
        scratchBytes = std::max(scratchBytes, one->scratchBytes);
    prepareMemory(problem, scratchBytes);
}

ClockSample TunedPass::runOnce(TunedCall& call) {
    set_ = (set_ + 1) % sets();
    const ClockSample sample = call.runs->run(
        [&](VkCommandBuffer commands, uint32_t first, uint32_t count) { record(commands, call, set_, first, count); });
    afterRun_();
    return sample;
}

double TunedPass::medianOf(const std::vector<ClockSample>& samples) const {
    return timingOf(samples, clock_.highest()).median;
}

void TunedPass::warmUp(TunedCall& call) {
    const Stopwatch time;
    do
        runOnce(call);
    while (time.seconds() < options_.warmSeconds);
}

// Measures the times of each call. The calls take turns, so that rising or falling clocks favour none.
void TunedPass::compare(const Calls& calls) {
    Calls left = calls;
    warmUp(*left.front());
    for (TunedCall* one : left) {
        runOnce(*one);
        const ClockSample second = runOnce(*one);
        const ClockSample third = runOnce(*one);
        one->times = {second.value < third.value ? second : third};
    }
    const auto first = [](const TunedCall* one) { return one->times.front(); };
    const auto faster = [&](auto* a, auto* b) { return first(a).value < first(b).value; };
    const double fastest = first(*std::min_element(left.begin(), left.end(), faster)).value;
    std::erase_if(left, [&](const TunedCall* one) {
        return first(one).value > hopeless * fastest && atFullClock(first(one), clock_.highest());
    });
    for (TunedCall* one : left)
        one->times.clear();
    const auto enough = [&] {
        return std::all_of(left.begin(), left.end(),
                           [&](const TunedCall* one) { return enoughAtFullClock(one->times, clock_.highest()); });
    };
    const TimeBudget budget(options_.maxRuns, options_.seconds);
    const size_t least = std::min<size_t>(3, options_.maxRuns);
    for (size_t round = 0; round < least || budget.allowsAnother(round, enough()); ++round)
        toAndFro(left, round, [&](TunedCall& one) { one.times.push_back(runOnce(one)); });
}

// True if the candidate is faster by the margin at the median of pairs of runs. A pair has the lower clock of its two
// runs.
bool TunedPass::isFaster(TunedCall& candidate, TunedCall& builtIn, double margin) {
    candidate.times.clear();
    builtIn.times.clear();
    const Calls pair = {&candidate, &builtIn};
    toAndFro(pair, 0, [&](TunedCall& one) { runOnce(one); });
    warmUp(builtIn);
    std::vector<ClockSample> ratios;
    const TimeBudget budget(options_.maxRuns, options_.seconds);
    const size_t least = std::min<size_t>(5, options_.maxRuns);
    for (size_t round = 0; round < least || budget.allowsAnother(round, enoughAtFullClock(ratios, clock_.highest()));
         ++round) {
        toAndFro(pair, round, [&](TunedCall& one) { one.times.push_back(runOnce(one)); });
        const ClockSample& one = candidate.times.back();
        const ClockSample& other = builtIn.times.back();
        ratios.push_back({other.value / one.value, std::min(one.clock, other.clock)});
    }
    return medianOf(ratios) >= 1 + margin;
}

// True if the candidate is faster by the margin of the options, twice. Both must have times of one comparison.
bool TunedPass::isTaken(TunedCall& candidate, TunedCall& builtIn) {
    const double needed = 1 + options_.margin;
    return medianOf(candidate.times) * needed < unlikely * medianOf(builtIn.times) &&
           isFaster(candidate, builtIn, options_.margin) && isFaster(candidate, builtIn, options_.margin);
}

// True if the candidate is not slower at both ends of the class that would get its tiles.
bool TunedPass::isFasterAlike(const ProblemClass& like, TunedCall& candidate, TunedCall& builtIn) {
    for (const VkfProblem& problem : like.corners()) {
        make(problem, candidate);
        make(problem, builtIn);
        if (candidate.tile == builtIn.tile)
            continue;
        prepare(problem, {&candidate, &builtIn});
        if (!isFaster(candidate, builtIn, 0))
            return false;
    }
    return true;
}

// The outputs are full of NaN before the first run of a preparation alone, so they are prepared again.
void TunedPass::checkResult(const VkfProblem& problem, TunedCall& call) {
    prepare(problem, {&call});
    runOnce(call);
    verify(problem, call, set_);
}

void TunedPass::takeIfFaster(const VkfProblem& problem, const ProblemClass& like, TunedCall& builtIn, TunedCall& best,
                             TuneResult& result) {
    prepare(problem, {&best, &builtIn}); // the best may need scratch memory that the built-in does without
    result.taken = isTaken(best, builtIn);
    result.bestTile = best.tileText;
    result.bestSeconds = medianOf(best.times);
    result.builtInSeconds = medianOf(builtIn.times);
    if (!result.taken)
        return;
    checkResult(problem, best);
    const Tiles tiles = best.tiles; // before the call is made for other problems
    result.alike = isFasterAlike(like, best, builtIn);
    const ProblemClass covered = result.alike ? like : like.narrowed();
    const std::string remark =
        fmt::format("{}, built-in {}", timeText(result.bestSeconds), timeText(result.builtInSeconds));
    for (const KernelTileText& one : tiles)
        result.entries.push_back(covered.entry(one, remark));
}

TuneResult TunedPass::tune(const VkfProblem& problem) {
    TunedCall builtIn;
    builtIn.context = createContext(device_, cache_, "");
    make(problem, builtIn);
    TuneResult result;
    result.problem = problem;
    result.path = builtIn.path;
    const ProblemClass like(problem, result.path);
    std::vector<TunedCall> candidates = rankedCandidates(problem, like, builtIn);
    requireTime(medianOf(builtIn.times), device_);
    result.builtInTile = result.bestTile = builtIn.tileText;
    result.builtInSeconds = result.bestSeconds = medianOf(builtIn.times);
    checkResult(problem, builtIn);
    if (!candidates.empty())
        takeIfFaster(problem, like, builtIn, candidates.front(), result);
    return result;
}

namespace {

// ---- The forward pass ----------------------------------------------------------------------------------

class ForwardPass : public TunedPass {
public:
    ForwardPass(host::Device& device, const TunerOptions& options, std::function<void()> afterRun)
        : TunedPass(device, options, std::move(afterRun)), memory_(device) {}

private:
    void make(const VkfProblem& problem, TunedCall& call) override {
        call.plan = createPlan(call.context, problem);
        call.planInfo = planInfo(call.plan);
        const VkfPlanInfo& plan = call.planInfo;
        call.path = plan.path;
        call.tuned = plan.tuned != 0;
        call.tile = plan.tile;
        call.tileText = fmt::format("{}x{}/{}{}", plan.tileRows, plan.tileKeys, plan.workgroupSize,
                                    plan.kvSplits > 1 ? fmt::format(" x{}", plan.kvSplits) : "");
        call.scratchBytes = plan.scratchBytes;
        call.runs.emplace(clock(), plan.stepCount);
        if (!call.tiles.empty()) // as the library completes it
            call.tiles[0].tile = plan.tile;
    }

    std::vector<TunedCall> rankedCandidates(const VkfProblem& problem, const ProblemClass& like,
                                            TunedCall& builtIn) override;

    void prepareMemory(const VkfProblem& problem, uint64_t scratchBytes) override {
        memory_.prepare(problem, scratchBytes, maxBufferSets);
    }
    size_t sets() const override { return memory_.sets(); }
    void record(VkCommandBuffer commands, TunedCall& call, size_t set, uint32_t first, uint32_t count) override {
        const VkfBindings bindings = memory_.bindings(set);
        requireSuccess(vkfCmdAttentionSteps, commands, call.plan.get(), &bindings, first, count);
    }
    void verify(const VkfProblem& problem, const TunedCall& call, size_t set) override {
        requirePassed(verifyResult(problem, memory_.download(set), call.planInfo, sampleRows()),
                      call.planInfo.description);
    }

    BenchMemory memory_;
};

std::vector<Tiles> tilesOf(const std::vector<std::string>& texts) {
    std::vector<Tiles> tiles;
    tiles.reserve(texts.size());
    for (const std::string& text : texts)
        tiles.push_back({{"", text}});
    return tiles;
}

// Two rounds: first all tiles, then the best of them with other numbers of splits.
std::vector<TunedCall> ForwardPass::rankedCandidates(const VkfProblem& problem, const ProblemClass& like,
                                                     TunedCall& builtIn) {
    if (builtIn.path == VKF_PATH_WGMMA)
        throw host::Error(VKF_ERROR_UNSUPPORTED, "tuning data has no tiles for path wgmma: each of its kernels has one "
                                                 "tile; --path coopmat tunes path coopmat");
    std::vector<TunedCall> ranked =
        candidates(problem, tilesOf(candidateTiles(problem, builtIn.planInfo)), like, builtIn);
    rank(problem, builtIn, ranked);
    std::set<std::string> splits;
    for (std::string& tile : otherSplits(problem, builtIn.planInfo))
        splits.insert(std::move(tile));
    for (size_t i = 0; i < std::min(ranked.size(), maxFinalists); ++i)
        for (std::string& tile : otherSplits(problem, ranked[i].planInfo))
            splits.insert(std::move(tile));
    for (const TunedCall& one : ranked)
        splits.erase(one.planInfo.tile);
    if (splits.empty())
        return ranked;
    ranked.erase(ranked.begin() + static_cast<std::ptrdiff_t>(std::min(ranked.size(), maxFinalists)), ranked.end());
    for (TunedCall& one : candidates(problem, tilesOf({splits.begin(), splits.end()}), like, builtIn))
        ranked.push_back(std::move(one));
    rank(problem, builtIn, ranked);
    return ranked;
}

// ---- The backward pass ---------------------------------------------------------------------------------

constexpr VkfGradients allGradients = VKF_GRADIENT_Q | VKF_GRADIENT_K | VKF_GRADIENT_V;

// Empties dq, dk and dv where they are not wanted.
template <typename Outputs> void keepWanted(VkfGradients wanted, Outputs& outputs) {
    if ((wanted & VKF_GRADIENT_Q) == 0)
        outputs.dq = {};
    if ((wanted & VKF_GRADIENT_K) == 0)
        outputs.dk = {};
    if ((wanted & VKF_GRADIENT_V) == 0)
        outputs.dv = {};
}

// The problem of the kernels that write these gradients.
VkfBackwardProblem backwardProblem(const VkfProblem& forward, VkfGradients gradients) {
    VkfBackwardProblem problem = gradientsOf(forward);
    problem.gradients = gradients;
    problem.maxScratchBytes = 1; // none: tuning data has no tiles of the kernels that sum up stored pairs
    keepWanted(gradients, problem);
    return problem;
}

class BackwardPass : public TunedPass {
public:
    BackwardPass(host::Device& device, const TunerOptions& options, std::function<void()> afterRun)
        : TunedPass(device, options, std::move(afterRun)), memory_(device) {}

    void select(VkfGradients gradients) { gradients_ = gradients; }

private:
    void make(const VkfProblem& forward, TunedCall& call) override {
        const VkfBackwardProblem problem = backwardProblem(forward, gradients_);
        call.backward = createBackward(call.context.get(), problem);
        call.backwardInfo = backwardInfo(call.backward);
        const VkfBackwardInfo& info = call.backwardInfo;
        call.path = info.path;
        call.tuned = info.tuned != 0;
        call.tile = call.tileText = fmt::format("{}{}", info.rowTile, info.keyTile);
        call.scratchBytes = info.scratchBytes;
        call.runs.emplace(clock(), info.stepCount);
    }

    std::vector<TunedCall> rankedCandidates(const VkfProblem& forward, const ProblemClass& like,
                                            TunedCall& builtIn) override {
        if (builtIn.path != VKF_PATH_COOPMAT)
            throw host::Error(
                VKF_ERROR_UNSUPPORTED,
                fmt::format("tuning data has no tiles for the backward pass on path {}", vkfPathName(builtIn.path)));
        std::vector<TunedCall> ranked = candidates(forward, backwardCandidates(forward, gradients_), like, builtIn);
        rank(forward, builtIn, ranked);
        return ranked;
    }

    void prepareMemory(const VkfProblem& forward, uint64_t scratchBytes) override {
        memory_.prepare(backwardProblem(forward, allGradients), scratchBytes, maxBufferSets);
    }
    size_t sets() const override { return memory_.sets(); }
    void record(VkCommandBuffer commands, TunedCall& call, size_t set, uint32_t first, uint32_t count) override {
        VkfBackwardBindings bindings = memory_.bindings(set);
        keepWanted(gradients_, bindings);
        requireSuccess(vkfCmdBackwardSteps, commands, call.backward.get(), &bindings, first, count);
    }
    void verify(const VkfProblem& forward, const TunedCall& call, size_t set) override {
        host::HostGradients gradients = memory_.downloadGradients(set);
        keepWanted(gradients_, gradients);
        requirePassed(verifyGradients(backwardProblem(forward, gradients_), memory_.downloadForward(set), gradients,
                                      call.backwardInfo, sampleRows()),
                      call.backwardInfo.description);
    }

    BackwardMemory memory_;
    VkfGradients gradients_ = 0; // that are tuned
};

} // namespace

Tuner::Tuner(host::Device& device, const TunerOptions& options, std::function<void()> afterRun)
    : forward_(std::make_unique<ForwardPass>(device, options, afterRun)),
      backward_(std::make_unique<BackwardPass>(device, options, std::move(afterRun))) {}

Tuner::~Tuner() = default;

TuneResult Tuner::tune(const VkfProblem& problem, VkfGradients gradients) {
    if (gradients == 0)
        return forward_->tune(problem);
    VkfProblem withLse = problem;
    enable(withLse, VKF_USE_LSE);
    static_cast<BackwardPass&>(*backward_).select(gradients);
    return backward_->tune(withLse);
}

} // namespace vkf::tools
