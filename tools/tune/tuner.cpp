// SPDX-License-Identifier: MIT
#include "tune/tuner.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "cli/text.hpp"
#include "cli/verdict.hpp"
#include "measure/backward_measure.hpp"
#include "measure/own_objects.hpp"
#include "measure/problem_measure.hpp"
#include "tune/tuning_text.hpp"

namespace vkf::tools {

namespace {

// Tiles as tuning data says them: one for the forward pass, one or two for kernels of the backward pass.
using Tiles = std::vector<KernelTileText>;

// One way to compute a call. Each pass has its own handle and info.
struct TunedCall : Contestant {
    Tiles tiles; // empty for the built-in choice
    Context context;
    Plan plan;
    VkfPlanInfo planInfo{};
    Backward backward;
    VkfBackwardInfo backwardInfo{};
    std::optional<StepRuns> runs;
};

// Number of tiles of the first comparison that enter the second one with other numbers of splits.
constexpr size_t maxFinalists = 3;

} // namespace

// What tuning does for either pass, and what differs between the passes.
class TunedPass {
public:
    TunedPass(host::Device& device, const TunerOptions& options, std::function<void()> afterRun)
        : device_(device), options_(options), afterRun_(std::move(afterRun)), clock_(device), cache_(device),
          contest_(clock_, options_, [this](Contestant& one) { return runOnce(static_cast<TunedCall&>(one)); }) {}
    virtual ~TunedPass() = default;
    TunedPass(const TunedPass&) = delete;
    TunedPass& operator=(const TunedPass&) = delete;

    TuneResult tune(const VkfProblem& problem);

protected:
    // Makes the call of a problem in its context.
    virtual void make(const VkfProblem& problem, TunedCall& call) = 0;
    virtual VkfPath pathOf(const TunedCall& call) const = 0;
    virtual bool isTuned(const TunedCall& call) const = 0;
    virtual bool haveEqualTiles(const TunedCall& a, const TunedCall& b) const = 0;
    virtual std::string tileText(const TunedCall& call) const = 0;
    virtual std::string entry(const ProblemClass& of, const KernelTileText& tile, const std::string& remark) const = 0;
    // Compares candidates with the built-in call, and sorts the fastest to the front.
    virtual std::vector<TunedCall> rankedCandidates(const VkfProblem& problem, const ProblemClass& like,
                                                    TunedCall& builtIn) = 0;
    // Fills inputs, and outputs with NaN.
    virtual void prepareMemory(const VkfProblem& problem, uint64_t scratchBytes) = 0;
    virtual uint64_t scratchBytesOf(const TunedCall& call) const = 0;
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
    bool isFasterAlike(const ProblemClass& like, TunedCall& candidate, TunedCall& builtIn);
    void checkResult(const VkfProblem& problem, TunedCall& call);
    void takeIfFaster(const VkfProblem& problem, const ProblemClass& like, TunedCall& builtIn, TunedCall& best,
                      TuneResult& result);

    host::Device& device_;
    TunerOptions options_;
    std::function<void()> afterRun_;
    GpuClock clock_;
    PipelineCache cache_;
    Contest contest_;
    size_t set_ = 0; // the set of buffers of the last run
};

std::vector<TunedCall> TunedPass::candidates(const VkfProblem& problem, const std::vector<Tiles>& tiles,
                                             const ProblemClass& like, const TunedCall& builtIn) {
    std::vector<TunedCall> made(tiles.size());
    makeAll(tiles.size(), [&](size_t i) {
        std::vector<std::string> entries;
        for (const KernelTileText& one : tiles[i])
            entries.push_back(entry(like, one, ""));
        made[i].tiles = tiles[i];
        made[i].context = createContext(device_, cache_, tuningText(device_.summary(), entries));
        make(problem, made[i]);
    });
    std::erase_if(made, [&](const TunedCall& one) { return !isTuned(one) || haveEqualTiles(one, builtIn); });
    return made;
}

void TunedPass::rank(const VkfProblem& problem, TunedCall& builtIn, std::vector<TunedCall>& candidates) {
    std::vector<const TunedCall*> all = {&builtIn};
    for (const TunedCall& one : candidates)
        all.push_back(&one);
    prepare(problem, all);
    contest_.rank(builtIn, candidates);
}

void TunedPass::prepare(const VkfProblem& problem, const std::vector<const TunedCall*>& calls) {
    uint64_t scratchBytes = 0;
    for (const TunedCall* one : calls)
        scratchBytes = std::max(scratchBytes, scratchBytesOf(*one));
    prepareMemory(problem, scratchBytes);
}

ClockSample TunedPass::runOnce(TunedCall& call) {
    set_ = (set_ + 1) % sets();
    const ClockSample sample = call.runs->run(
        [&](VkCommandBuffer commands, uint32_t first, uint32_t count) { record(commands, call, set_, first, count); });
    afterRun_();
    return sample;
}

// True if the candidate is not slower at both ends of the class that would get its tiles.
bool TunedPass::isFasterAlike(const ProblemClass& like, TunedCall& candidate, TunedCall& builtIn) {
    for (const VkfProblem& problem : like.corners()) {
        make(problem, candidate);
        make(problem, builtIn);
        if (haveEqualTiles(candidate, builtIn))
            continue;
        prepare(problem, {&candidate, &builtIn});
        if (!contest_.isFaster(candidate, builtIn, 0))
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
    result.taken = contest_.isTaken(best, builtIn);
    result.bestTile = tileText(best);
    result.bestSeconds = contest_.medianOf(best);
    result.builtInSeconds = contest_.medianOf(builtIn);
    if (!result.taken)
        return;
    checkResult(problem, best);
    const Tiles tiles = best.tiles; // before the call is made for other problems
    result.alike = isFasterAlike(like, best, builtIn);
    const ProblemClass covered = result.alike ? like : like.narrowed();
    const std::string remark =
        fmt::format("{}, built-in {}", timeText(result.bestSeconds), timeText(result.builtInSeconds));
    for (const KernelTileText& one : tiles)
        result.entries.push_back(entry(covered, one, remark));
}

TuneResult TunedPass::tune(const VkfProblem& problem) {
    TunedCall builtIn;
    builtIn.context = createContext(device_, cache_, "");
    make(problem, builtIn);
    TuneResult result;
    result.problem = problem;
    result.path = pathOf(builtIn);
    const ProblemClass like(problem, result.path);
    std::vector<TunedCall> candidates = rankedCandidates(problem, like, builtIn);
    requireTime(contest_.medianOf(builtIn), device_);
    result.builtInTile = result.bestTile = tileText(builtIn);
    result.builtInSeconds = result.bestSeconds = contest_.medianOf(builtIn);
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
        call.runs.emplace(clock(), call.planInfo.stepCount);
        if (!call.tiles.empty()) // as the library completes it
            call.tiles[0].tile = call.planInfo.tile;
    }

    VkfPath pathOf(const TunedCall& call) const override { return call.planInfo.path; }
    bool isTuned(const TunedCall& call) const override { return call.planInfo.tuned != 0; }
    bool haveEqualTiles(const TunedCall& a, const TunedCall& b) const override {
        return std::string_view(a.planInfo.tile) == b.planInfo.tile;
    }
    std::string tileText(const TunedCall& call) const override {
        const VkfPlanInfo& plan = call.planInfo;
        return fmt::format("{}x{}/{}{}", plan.tileRows, plan.tileKeys, plan.workgroupSize,
                           plan.kvSplits > 1 ? fmt::format(" x{}", plan.kvSplits) : "");
    }
    std::string entry(const ProblemClass& of, const KernelTileText& tile, const std::string& remark) const override {
        return of.entry(tile.tile, remark);
    }

    std::vector<TunedCall> rankedCandidates(const VkfProblem& problem, const ProblemClass& like,
                                            TunedCall& builtIn) override;

    void prepareMemory(const VkfProblem& problem, uint64_t scratchBytes) override {
        memory_.prepare(problem, scratchBytes, maxBufferSets);
    }
    uint64_t scratchBytesOf(const TunedCall& call) const override { return call.planInfo.scratchBytes; }
    size_t sets() const override { return memory_.sets(); }
    void record(VkCommandBuffer commands, TunedCall& call, size_t set, uint32_t first, uint32_t count) override {
        VkfMessage message{};
        const VkfBindings bindings = memory_.bindings(set);
        check(vkfCmdAttentionSteps(commands, call.plan.get(), &bindings, first, count, &message), message);
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
    if (builtIn.planInfo.path == VKF_PATH_WGMMA)
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

// The problem of the kernels that write these gradients.
VkfBackwardProblem backwardProblem(const VkfProblem& forward, VkfGradients gradients) {
    auto problem = vkf::make<VkfBackwardProblem>();
    problem.forward = &forward;
    problem.gradients = gradients;
    problem.dout = forward.o;
    problem.maxScratchBytes = 1; // none: tuning data has no tiles of the kernels that sum up stored pairs
    if ((gradients & VKF_GRADIENT_Q) != 0)
        problem.dq = forward.q;
    if ((gradients & VKF_GRADIENT_K) != 0)
        problem.dk = forward.k;
    if ((gradients & VKF_GRADIENT_V) != 0)
        problem.dv = forward.v;
    return problem;
}

// Empties dq, dk and dv where they are not wanted.
template <typename Outputs> void keepWanted(VkfGradients wanted, Outputs& outputs) {
    if ((wanted & VKF_GRADIENT_Q) == 0)
        outputs.dq = {};
    if ((wanted & VKF_GRADIENT_K) == 0)
        outputs.dk = {};
    if ((wanted & VKF_GRADIENT_V) == 0)
        outputs.dv = {};
}

class BackwardPass : public TunedPass {
public:
    BackwardPass(host::Device& device, const TunerOptions& options, std::function<void()> afterRun)
        : TunedPass(device, options, std::move(afterRun)), memory_(device) {}

    void select(VkfGradients gradients) { gradients_ = gradients; }

private:
    void make(const VkfProblem& forward, TunedCall& call) override {
        const VkfBackwardProblem problem = backwardProblem(forward, gradients_);
        VkfMessage message{};
        check(vkfCreateBackward(call.context.get(), &problem, call.backward.put(), &message), message);
        call.backwardInfo = vkf::make<VkfBackwardInfo>();
        check(vkfGetBackwardInfo(call.backward.get(), &call.backwardInfo, &message), message);
        call.runs.emplace(clock(), call.backwardInfo.stepCount);
    }

    VkfPath pathOf(const TunedCall& call) const override { return call.backwardInfo.path; }
    bool isTuned(const TunedCall& call) const override { return call.backwardInfo.tuned != 0; }
    bool haveEqualTiles(const TunedCall& a, const TunedCall& b) const override {
        return std::string_view(a.backwardInfo.rowTile) == b.backwardInfo.rowTile &&
               std::string_view(a.backwardInfo.keyTile) == b.backwardInfo.keyTile;
    }
    std::string tileText(const TunedCall& call) const override {
        return fmt::format("{}{}", call.backwardInfo.rowTile, call.backwardInfo.keyTile);
    }
    std::string entry(const ProblemClass& of, const KernelTileText& tile, const std::string& remark) const override {
        return of.backwardEntry(tile.kernel, tile.tile, remark);
    }

    std::vector<TunedCall> rankedCandidates(const VkfProblem& forward, const ProblemClass& like,
                                            TunedCall& builtIn) override {
        if (builtIn.backwardInfo.path != VKF_PATH_COOPMAT)
            throw host::Error(VKF_ERROR_UNSUPPORTED,
                              fmt::format("tuning data has no tiles for the backward pass on path {}",
                                          vkfPathName(builtIn.backwardInfo.path)));
        std::vector<TunedCall> ranked = candidates(forward, backwardCandidates(forward, gradients_), like, builtIn);
        rank(forward, builtIn, ranked);
        return ranked;
    }

    void prepareMemory(const VkfProblem& forward, uint64_t scratchBytes) override {
        memory_.prepare(backwardProblem(forward, allGradients), scratchBytes, maxBufferSets);
    }
    uint64_t scratchBytesOf(const TunedCall& call) const override { return call.backwardInfo.scratchBytes; }
    size_t sets() const override { return memory_.sets(); }
    void record(VkCommandBuffer commands, TunedCall& call, size_t set, uint32_t first, uint32_t count) override {
        VkfBackwardBindings bindings = memory_.bindings(set);
        keepWanted(gradients_, bindings);
        VkfMessage message{};
        check(vkfCmdBackwardSteps(commands, call.backward.get(), &bindings, first, count, &message), message);
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

TuneResult Tuner::tune(const VkfProblem& problem) { return forward_->tune(problem); }

TuneResult Tuner::tuneBackward(const VkfProblem& forward, VkfGradients gradients) {
    VkfProblem withLse = forward;
    enable(withLse, VKF_USE_LSE);
    static_cast<BackwardPass&>(*backward_).select(gradients);
    return backward_->tune(withLse);
}

} // namespace vkf::tools
