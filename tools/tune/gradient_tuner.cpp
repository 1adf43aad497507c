// SPDX-License-Identifier: MIT
#include "tune/gradient_tuner.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "cli/text.hpp"
#include "cli/verdict.hpp"

namespace vkf::tools {

namespace {

// The problem of the kernels that write these gradients.
VkfBackwardProblem gradientProblem(const VkfProblem& forward, VkfGradients gradients) {
    auto problem = make<VkfBackwardProblem>();
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

VkfProblem withLse(VkfProblem forward) {
    enable(forward, VKF_USE_LSE);
    return forward;
}

// The tiles of all kernels.
bool haveEqualTiles(const VkfBackwardInfo& a, const VkfBackwardInfo& b) {
    return std::string_view(a.rowTile) == b.rowTile && std::string_view(a.keyTile) == b.keyTile;
}

} // namespace

GradientTuner::GradientTuner(host::Device& device, const TunerOptions& options, std::function<void()> afterRun)
    : device_(device), options_(options), afterRun_(std::move(afterRun)), clock_(device), cache_(device),
      memory_(device),
      contest_(clock_, options_, [this](Contestant& one) { return runOnce(static_cast<GradientContestant&>(one)); }) {}

// Makes the gradient of a contestant, in its context.
void GradientTuner::plan(const VkfProblem& forward, GradientContestant& contestant) {
    const VkfBackwardProblem problem = gradientProblem(forward, gradients_);
    VkfMessage message{};
    check(vkfCreateBackward(contestant.context.get(), &problem, contestant.gradient.put(), &message), message);
    contestant.info = make<VkfBackwardInfo>();
    check(vkfGetBackwardInfo(contestant.gradient.get(), &contestant.info, &message), message);
    contestant.runs.emplace(clock_, contestant.info.stepCount);
}

GradientTuner::GradientContestant
GradientTuner::contestant(const VkfProblem& forward, std::vector<KernelTileText> tiles, const std::string& tuning) {
    GradientContestant made;
    made.tiles = std::move(tiles);
    made.context = createContext(device_, cache_, tuning);
    plan(forward, made);
    return made;
}

// Makes gradients for the tiles that fit and differ from the built-in ones.
std::vector<GradientTuner::GradientContestant>
GradientTuner::contestants(const VkfProblem& forward, const ProblemClass& like, const VkfBackwardInfo& builtIn) {
    const std::vector<std::vector<KernelTileText>> tiles = gradientCandidates(forward, gradients_);
    std::vector<std::optional<GradientContestant>> made(tiles.size());
    makeAll(tiles.size(), [&](size_t i) {
        std::vector<std::string> entries;
        for (const KernelTileText& one : tiles[i])
            entries.push_back(like.gradientEntry(one.kernel, one.tile));
        made[i] = contestant(forward, tiles[i], tuningText(device_.summary(), entries));
    });
    std::vector<GradientContestant> fitting;
    for (std::optional<GradientContestant>& one : made)
        if (one->info.tuned && !haveEqualTiles(one->info, builtIn))
            fitting.push_back(std::move(*one));
    return fitting;
}

void GradientTuner::prepare(const VkfProblem& forward, const std::vector<const GradientContestant*>& contestants) {
    VkDeviceSize scratchBytes = 0;
    for (const GradientContestant* one : contestants)
        scratchBytes = std::max(scratchBytes, one->info.scratchBytes);
    memory_.prepare(gradientProblem(forward, allGradients), scratchBytes, mostBufferSets);
}

ClockSample GradientTuner::runOnce(GradientContestant& contestant) {
    set_ = (set_ + 1) % memory_.sets();
    VkfBackwardBindings bindings = memory_.bindings(set_);
    keepWanted(gradients_, bindings);
    VkfMessage message{};
    const ClockSample sample = contestant.runs->run([&](VkCommandBuffer commands, uint32_t first, uint32_t count) {
        check(vkfCmdBackwardSteps(commands, contestant.gradient.get(), &bindings, first, count, &message), message);
    });
    afterRun_();
    return sample;
}

// True if the candidate is not slower at both ends of the class that would get its tiles.
bool GradientTuner::isFasterAlike(const ProblemClass& like, GradientContestant& candidate,
                                  GradientContestant& builtIn) {
    for (const VkfProblem& corner : like.corners()) {
        const VkfProblem forward = withLse(corner);
        plan(forward, candidate);
        plan(forward, builtIn);
        if (haveEqualTiles(candidate.info, builtIn.info))
            continue;
        prepare(forward, {&candidate, &builtIn});
        if (!contest_.isFaster(candidate, builtIn, 0))
            return false;
    }
    return true;
}

// The outputs are full of NaN before the first run of a preparation alone, so they are prepared again.
void GradientTuner::checkResult(const VkfProblem& forward, GradientContestant& contestant) {
    prepare(forward, {&contestant});
    runOnce(contestant);
    host::HostGradients gradients = memory_.downloadGradients(set_);
    keepWanted(gradients_, gradients);
    requirePassed(verifyGradients(gradientProblem(forward, gradients_), memory_.downloadForward(set_), gradients,
                                  contestant.info, options_.sampleRows),
                  contestant.info.description);
}

GradientTuneResult GradientTuner::tune(const VkfProblem& problem, VkfGradients gradients) {
    const VkfProblem forward = withLse(problem);
    gradients_ = gradients;
    GradientTuneResult result;
    result.problem = problem;
    result.gradients = gradients;
    GradientContestant builtIn = contestant(forward, {}, "");
    if (builtIn.info.path != VKF_PATH_COOPMAT)
        throw host::Error(
            VKF_ERROR_UNSUPPORTED,
            fmt::format("tuning data has no tiles for the backward pass on path {}", vkfPathName(builtIn.info.path)));
    const ProblemClass like(forward, VKF_PATH_COOPMAT);
    std::vector<GradientContestant> candidates = contestants(forward, like, builtIn.info);
    std::vector<const GradientContestant*> all = {&builtIn};
    for (const GradientContestant& one : candidates)
        all.push_back(&one);
    prepare(forward, all);
    contest_.rank(builtIn, candidates);
    requireTime(contest_.medianOf(builtIn), device_);
    result.builtIn = result.best = builtIn.info;
    result.builtInSeconds = result.bestSeconds = contest_.medianOf(builtIn);
    if (!candidates.empty()) {
        GradientContestant& best = candidates.front();
        result.taken = contest_.isTaken(best, builtIn);
        result.best = best.info;
        result.bestSeconds = contest_.medianOf(best);
        result.builtInSeconds = contest_.medianOf(builtIn);
    }
    checkResult(forward, builtIn);
    if (result.taken) {
        GradientContestant& best = candidates.front();
        checkResult(forward, best);
        result.alike = isFasterAlike(like, best, builtIn);
        const ProblemClass covered = result.alike ? like : like.narrowed();
        const std::string remark =
            fmt::format("{}, built-in {}", timeText(result.bestSeconds), timeText(result.builtInSeconds));
        for (const KernelTileText& one : best.tiles)
            result.entries.push_back(covered.gradientEntry(one.kernel, one.tile, remark));
    }
    return result;
}

} // namespace vkf::tools
