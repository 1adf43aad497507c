// SPDX-License-Identifier: MIT
#include "tune/tuner.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "cli/text.hpp"
#include "cli/verdict.hpp"
#include "tune/candidates.hpp"

namespace vkf::tools {

namespace {

// Number of tiles of the first comparison that enter the second one with other numbers of splits.
constexpr size_t mostFinalists = 3;

} // namespace

Tuner::Tuner(host::Device& device, const TunerOptions& options, std::function<void()> afterRun)
    : device_(device), options_(options), afterRun_(std::move(afterRun)), clock_(device), cache_(device),
      memory_(device),
      contest_(clock_, options_, [this](Contestant& one) { return runOnce(static_cast<PlanContestant&>(one)); }) {}

Tuner::PlanContestant Tuner::contestant(const VkfProblem& problem, const std::string& tuning) {
    PlanContestant made;
    made.context = createContext(device_, cache_, tuning);
    made.plan = createPlan(made.context, problem);
    made.info = planInfo(made.plan);
    made.runs.emplace(clock_, made.plan.get(), made.info.stepCount);
    return made;
}

// Makes plans for the tiles that fit and differ from the built-in one.
std::vector<Tuner::PlanContestant> Tuner::contestants(const VkfProblem& problem, const std::vector<std::string>& tiles,
                                                      const ProblemClass& like, const VkfPlanInfo& builtIn) {
    std::vector<std::optional<PlanContestant>> made(tiles.size());
    makeAll(tiles.size(),
            [&](size_t i) { made[i] = contestant(problem, tuningText(device_.summary(), {like.entry(tiles[i])})); });
    std::vector<PlanContestant> fitting;
    for (std::optional<PlanContestant>& one : made)
        if (one->info.tuned && std::string_view(one->info.tile) != builtIn.tile)
            fitting.push_back(std::move(*one));
    return fitting;
}

void Tuner::prepare(const VkfProblem& problem, const std::vector<PlanContestant*>& contestants) {
    VkDeviceSize scratchBytes = 0;
    for (const PlanContestant* one : contestants)
        scratchBytes = std::max(scratchBytes, one->info.scratchBytes);
    memory_.prepare(problem, scratchBytes, mostBufferSets);
}

ClockSample Tuner::runOnce(PlanContestant& contestant) {
    set_ = (set_ + 1) % memory_.sets();
    const ClockSample sample = contestant.runs->run(memory_.bindings(set_));
    afterRun_();
    return sample;
}

// True if the candidate is not slower at both ends of the class that would get its tile.
bool Tuner::isFasterAlike(const ProblemClass& like, const PlanContestant& candidate, const PlanContestant& builtIn) {
    for (const VkfProblem& problem : like.corners()) {
        const auto planned = [&](const Context& context) {
            PlanContestant made;
            made.plan = createPlan(context, problem);
            made.info = planInfo(made.plan);
            made.runs.emplace(clock_, made.plan.get(), made.info.stepCount);
            return made;
        };
        PlanContestant one = planned(candidate.context);
        PlanContestant other = planned(builtIn.context);
        if (std::string_view(one.info.tile) == other.info.tile)
            continue;
        prepare(problem, {&one, &other});
        if (!contest_.isFaster(one, other, 0))
            return false;
    }
    return true;
}

void Tuner::checkResult(const VkfProblem& problem, PlanContestant& contestant) {
    memory_.poison((set_ + 1) % memory_.sets());
    runOnce(contestant);
    requirePassed(verifyResult(problem, memory_.download(set_), contestant.info, options_.sampleRows),
                  contestant.info.description);
}

// Compares all candidates with the built-in choice. Sorts the fastest to the front.
void Tuner::rank(const VkfProblem& problem, PlanContestant& builtIn, std::vector<PlanContestant>& candidates) {
    std::vector<PlanContestant*> all = {&builtIn};
    for (PlanContestant& one : candidates)
        all.push_back(&one);
    prepare(problem, all);
    contest_.rank(builtIn, candidates);
}

// Two rounds: first all tiles, then the best of them with other numbers of splits.
std::vector<Tuner::PlanContestant> Tuner::rankedCandidates(const VkfProblem& problem, const ProblemClass& like,
                                                           PlanContestant& builtIn) {
    std::vector<PlanContestant> candidates =
        contestants(problem, candidateTiles(problem, builtIn.info), like, builtIn.info);
    rank(problem, builtIn, candidates);
    std::set<std::string> splits;
    for (std::string& tile : otherSplits(problem, builtIn.info))
        splits.insert(std::move(tile));
    for (size_t i = 0; i < std::min(candidates.size(), mostFinalists); ++i)
        for (std::string& tile : otherSplits(problem, candidates[i].info))
            splits.insert(std::move(tile));
    for (const PlanContestant& one : candidates)
        splits.erase(one.info.tile);
    if (splits.empty())
        return candidates;
    candidates.resize(std::min(candidates.size(), mostFinalists));
    for (PlanContestant& one : contestants(problem, {splits.begin(), splits.end()}, like, builtIn.info))
        candidates.push_back(std::move(one));
    rank(problem, builtIn, candidates);
    return candidates;
}

TuneResult Tuner::tune(const VkfProblem& problem) {
    TuneResult result;
    result.problem = problem;
    PlanContestant builtIn = contestant(problem, {});
    const ProblemClass like(problem, builtIn.info.path);
    std::vector<PlanContestant> candidates = rankedCandidates(problem, like, builtIn);
    requireTime(contest_.medianOf(builtIn), device_);
    checkResult(problem, builtIn);
    result.builtIn = result.best = builtIn.info;
    result.builtInSeconds = result.bestSeconds = contest_.medianOf(builtIn);
    if (!candidates.empty()) {
        PlanContestant& best = candidates.front();
        const bool faster = contest_.isTaken(best, builtIn);
        result.best = best.info;
        result.bestSeconds = contest_.medianOf(best);
        result.builtInSeconds = contest_.medianOf(builtIn);
        if (faster) {
            checkResult(problem, best);
            result.taken = true;
            result.alike = isFasterAlike(like, best, builtIn);
        }
    }
    if (result.taken)
        result.entry = (result.alike ? like : like.narrowed())
                           .entry(result.best.tile, fmt::format("{}, built-in {}", timeText(result.bestSeconds),
                                                                timeText(result.builtInSeconds)));
    return result;
}

} // namespace vkf::tools
