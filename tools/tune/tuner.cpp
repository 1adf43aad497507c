// SPDX-License-Identifier: MIT
#include "tune/tuner.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "cli/text.hpp"
#include "cli/verdict.hpp"
#include "tune/candidates.hpp"

namespace vkf::tools {

namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Number of tiles of the first comparison that enter the second one with other numbers of splits.
constexpr size_t mostFinalists = 3;
// A tile whose first runs take this many times as long as the fastest tile is not run again.
constexpr double hopeless = 1.4;
// In the comparison of all tiles, the best one took this many times as long as the built-in one. A comparison of the
// two alone is not needed then.
constexpr double unlikely = 1.05;

// Runs in the order of the list, then in the reverse order, and so on. Rising or falling clocks then favour no tile.
template <typename List, typename Function> void toAndFro(List& list, size_t round, const Function& function) {
    for (size_t i = 0; i < list.size(); ++i)
        function(*list[round % 2 == 0 ? i : list.size() - 1 - i]);
}

} // namespace

Tuner::Tuner(host::Device& device, const TunerOptions& options, std::function<void()> afterRun)
    : device_(device), options_(options), afterRun_(std::move(afterRun)), clock_(device), cache_(device),
      memory_(device) {}

Tuner::Contestant Tuner::contestant(const VkfProblem& problem, const std::string& tuning) {
    Contestant made;
    made.context = createContext(device_, cache_, tuning);
    made.plan = createPlan(made.context, problem);
    made.info = planInfo(made.plan);
    made.runs.emplace(clock_, made.plan.get(), made.info.stepCount);
    return made;
}

// Makes plans for the tiles that fit and differ from the built-in one. Compilers are slow, so several threads compile.
std::vector<Tuner::Contestant> Tuner::contestants(const VkfProblem& problem, const std::vector<std::string>& tiles,
                                                  const ProblemClass& like, const VkfPlanInfo& builtIn) {
    std::vector<std::optional<Contestant>> made(tiles.size());
    std::atomic<size_t> next = 0;
    const auto work = [&] {
        for (size_t i = next++; i < tiles.size(); i = next++)
            made[i] = contestant(problem, tuningText(device_.summary(), {like.entry(tiles[i])}));
    };
    std::vector<std::future<void>> workers;
    for (size_t i = 0; i < std::clamp(std::thread::hardware_concurrency(), 1U, 16U); ++i)
        workers.push_back(std::async(std::launch::async, work));
    for (std::future<void>& worker : workers)
        worker.wait();
    for (std::future<void>& worker : workers)
        worker.get();
    std::vector<Contestant> fitting;
    for (std::optional<Contestant>& one : made)
        if (one->info.tuned && std::string_view(one->info.tile) != builtIn.tile)
            fitting.push_back(std::move(*one));
    return fitting;
}

void Tuner::prepare(const VkfProblem& problem, const std::vector<Contestant*>& contestants) {
    VkDeviceSize scratchBytes = 0;
    for (const Contestant* one : contestants)
        scratchBytes = std::max(scratchBytes, one->info.scratchBytes);
    memory_.prepare(problem, scratchBytes, mostBufferSets);
}

ClockSample Tuner::runOnce(Contestant& contestant) {
    set_ = (set_ + 1) % memory_.sets();
    const ClockSample sample = contestant.runs->run(memory_.bindings(set_));
    afterRun_();
    return sample;
}

double Tuner::medianOf(const std::vector<ClockSample>& samples) const {
    return timingOf(samples, clock_.highest()).median;
}

bool Tuner::enoughOf(const std::vector<Contestant*>& contestants) const {
    return std::all_of(contestants.begin(), contestants.end(),
                       [&](const Contestant* one) { return enoughAtFullClock(one->times, clock_.highest()); });
}

void Tuner::warmUp(Contestant& contestant) {
    const Clock::time_point start = Clock::now();
    do
        runOnce(contestant);
    while (secondsSince(start) < options_.warmSeconds);
}

// Measures the times of each tile. The tiles take turns.
void Tuner::compare(const std::vector<Contestant*>& contestants) {
    std::vector<Contestant*> left = contestants;
    warmUp(*left.front());
    for (Contestant* one : left) {
        runOnce(*one);
        const ClockSample second = runOnce(*one);
        const ClockSample third = runOnce(*one);
        one->times = {second.value < third.value ? second : third};
    }
    const auto first = [](const Contestant* one) { return one->times.front(); };
    const auto faster = [&](auto* a, auto* b) { return first(a).value < first(b).value; };
    const double fastest = first(*std::min_element(left.begin(), left.end(), faster)).value;
    std::erase_if(left, [&](const Contestant* one) {
        return first(one).value > hopeless * fastest && atFullClock(first(one), clock_.highest());
    });
    for (Contestant* one : left)
        one->times.clear();
    const TimeBudget budget(options_.maxRuns, options_.seconds);
    const size_t least = std::min<size_t>(3, options_.maxRuns);
    for (size_t round = 0; round < least || budget.allowsAnother(round, enoughOf(left)); ++round)
        toAndFro(left, round, [&](Contestant& one) { one.times.push_back(runOnce(one)); });
}

// True if the candidate is faster by the margin at the median of pairs of runs. A pair has the lower clock of its two
// runs.
bool Tuner::isFaster(Contestant& candidate, Contestant& builtIn, double margin) {
    candidate.times.clear();
    builtIn.times.clear();
    std::vector<Contestant*> pair = {&candidate, &builtIn};
    toAndFro(pair, 0, [&](Contestant& one) { runOnce(one); });
    warmUp(builtIn);
    std::vector<ClockSample> ratios;
    const TimeBudget budget(options_.maxRuns, options_.seconds);
    const size_t least = std::min<size_t>(5, options_.maxRuns);
    for (size_t round = 0; round < least || budget.allowsAnother(round, enoughAtFullClock(ratios, clock_.highest()));
         ++round) {
        toAndFro(pair, round, [&](Contestant& one) { one.times.push_back(runOnce(one)); });
        const ClockSample& one = candidate.times.back();
        const ClockSample& other = builtIn.times.back();
        ratios.push_back({other.value / one.value, std::min(one.clock, other.clock)});
    }
    return medianOf(ratios) >= 1 + margin;
}

// True if the candidate is not slower at both ends of the class that would get its tile.
bool Tuner::isFasterAlike(const ProblemClass& like, const Contestant& candidate, const Contestant& builtIn) {
    for (const VkfProblem& problem : like.corners()) {
        const auto planned = [&](const Context& context) {
            Contestant made;
            made.plan = createPlan(context, problem);
            made.info = planInfo(made.plan);
            made.runs.emplace(clock_, made.plan.get(), made.info.stepCount);
            return made;
        };
        Contestant one = planned(candidate.context);
        Contestant other = planned(builtIn.context);
        if (std::string_view(one.info.tile) == other.info.tile)
            continue;
        prepare(problem, {&one, &other});
        if (!isFaster(one, other, 0))
            return false;
    }
    return true;
}

void Tuner::checkResult(const VkfProblem& problem, Contestant& contestant) {
    memory_.poison((set_ + 1) % memory_.sets());
    runOnce(contestant);
    requirePassed(verifyResult(problem, memory_.download(set_), contestant.info, options_.sampleRows),
                  contestant.info.description);
}

// Compares all candidates with the built-in choice. Sorts the fastest to the front.
void Tuner::rank(const VkfProblem& problem, Contestant& builtIn, std::vector<Contestant>& candidates) {
    std::vector<Contestant*> all = {&builtIn};
    for (Contestant& one : candidates)
        all.push_back(&one);
    prepare(problem, all);
    compare(all);
    std::stable_sort(candidates.begin(), candidates.end(),
                     [&](const Contestant& a, const Contestant& b) { return medianOf(a.times) < medianOf(b.times); });
}

// Two rounds: first all tiles, then the best of them with other numbers of splits.
std::vector<Tuner::Contestant> Tuner::rankedCandidates(const VkfProblem& problem, const ProblemClass& like,
                                                       Contestant& builtIn) {
    std::vector<Contestant> candidates =
        contestants(problem, candidateTiles(problem, builtIn.info), like, builtIn.info);
    rank(problem, builtIn, candidates);
    std::set<std::string> splits;
    for (std::string& tile : otherSplits(problem, builtIn.info))
        splits.insert(std::move(tile));
    for (size_t i = 0; i < std::min(candidates.size(), mostFinalists); ++i)
        for (std::string& tile : otherSplits(problem, candidates[i].info))
            splits.insert(std::move(tile));
    for (const Contestant& one : candidates)
        splits.erase(one.info.tile);
    if (splits.empty())
        return candidates;
    candidates.resize(std::min(candidates.size(), mostFinalists));
    for (Contestant& one : contestants(problem, {splits.begin(), splits.end()}, like, builtIn.info))
        candidates.push_back(std::move(one));
    rank(problem, builtIn, candidates);
    return candidates;
}

TuneResult Tuner::tune(const VkfProblem& problem) {
    TuneResult result;
    result.problem = problem;
    Contestant builtIn = contestant(problem, {});
    const ProblemClass like(problem, builtIn.info.path);
    std::vector<Contestant> candidates = rankedCandidates(problem, like, builtIn);
    requireTime(medianOf(builtIn.times), device_);
    checkResult(problem, builtIn);
    result.builtIn = result.best = builtIn.info;
    result.builtInSeconds = result.bestSeconds = medianOf(builtIn.times);
    if (!candidates.empty()) {
        Contestant& best = candidates.front();
        const bool faster = medianOf(best.times) < unlikely * medianOf(builtIn.times) &&
                            isFaster(best, builtIn, options_.margin) && isFaster(best, builtIn, options_.margin);
        result.best = best.info;
        result.bestSeconds = medianOf(best.times);
        result.builtInSeconds = medianOf(builtIn.times);
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
