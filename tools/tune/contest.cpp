// SPDX-License-Identifier: MIT
#include "tune/contest.hpp"

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

namespace vkf::tools {

namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// A tile whose first runs take this many times as long as the fastest tile is not run again.
constexpr double hopeless = 1.4;
// In the comparison of all tiles, the best one took this many times as long as it may take to be faster than the
// built-in one by the margin. A comparison of the two alone is not needed then.
constexpr double unlikely = 1.08;

// Runs in the order of the list, then in the reverse order, and so on. Rising or falling clocks then favour no tile.
template <typename List, typename Function> void toAndFro(List& list, size_t round, const Function& function) {
    for (size_t i = 0; i < list.size(); ++i)
        function(*list[round % 2 == 0 ? i : list.size() - 1 - i]);
}

} // namespace

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

double Contest::medianOf(const std::vector<ClockSample>& samples) const {
    return timingOf(samples, clock_.highest()).median;
}

bool Contest::enoughOf(const std::vector<Contestant*>& contestants) const {
    return std::all_of(contestants.begin(), contestants.end(),
                       [&](const Contestant* one) { return enoughAtFullClock(one->times, clock_.highest()); });
}

void Contest::warmUp(Contestant& contestant) {
    const Clock::time_point start = Clock::now();
    do
        run_(contestant);
    while (secondsSince(start) < options_.warmSeconds);
}

// Measures the times of each tile. The tiles take turns.
void Contest::compare(const std::vector<Contestant*>& contestants) {
    std::vector<Contestant*> left = contestants;
    warmUp(*left.front());
    for (Contestant* one : left) {
        run_(*one);
        const ClockSample second = run_(*one);
        const ClockSample third = run_(*one);
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
        toAndFro(left, round, [&](Contestant& one) { one.times.push_back(run_(one)); });
}

// True if the candidate is faster by the margin at the median of pairs of runs. A pair has the lower clock of its two
// runs.
bool Contest::isFaster(Contestant& candidate, Contestant& builtIn, double margin) {
    candidate.times.clear();
    builtIn.times.clear();
    std::vector<Contestant*> pair = {&candidate, &builtIn};
    toAndFro(pair, 0, [&](Contestant& one) { run_(one); });
    warmUp(builtIn);
    std::vector<ClockSample> ratios;
    const TimeBudget budget(options_.maxRuns, options_.seconds);
    const size_t least = std::min<size_t>(5, options_.maxRuns);
    for (size_t round = 0; round < least || budget.allowsAnother(round, enoughAtFullClock(ratios, clock_.highest()));
         ++round) {
        toAndFro(pair, round, [&](Contestant& one) { one.times.push_back(run_(one)); });
        const ClockSample& one = candidate.times.back();
        const ClockSample& other = builtIn.times.back();
        ratios.push_back({other.value / one.value, std::min(one.clock, other.clock)});
    }
    return medianOf(ratios) >= 1 + margin;
}

bool Contest::isTaken(Contestant& candidate, Contestant& builtIn) {
    const double needed = 1 + options_.margin;
    return medianOf(candidate) * needed < unlikely * medianOf(builtIn) &&
           isFaster(candidate, builtIn, options_.margin) && isFaster(candidate, builtIn, options_.margin);
}

} // namespace vkf::tools
