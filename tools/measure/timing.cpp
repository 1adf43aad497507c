// SPDX-License-Identifier: MIT
#include "measure/timing.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "cli/error.hpp"

namespace vkf::tools {

namespace {

constexpr double minShareOfClock = 0.97;
constexpr size_t enoughSamples = 10;
constexpr size_t enoughShare = 3; // one run of this many

double medianOf(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

} // namespace

bool atFullClock(const ClockSample& sample, double highestClock) {
    return sample.clock >= minShareOfClock * highestClock;
}

bool enoughAtFullClock(std::span<const ClockSample> samples, double highestClock) {
    const auto there = static_cast<size_t>(std::count_if(
        samples.begin(), samples.end(), [&](const ClockSample& sample) { return atFullClock(sample, highestClock); }));
    return there >= enoughSamples || there * enoughShare >= samples.size();
}

CountedSamples countedSamples(std::span<const ClockSample> samples, double highestClock) {
    CountedSamples counted;
    const bool enough = enoughAtFullClock(samples, highestClock);
    counted.fullClock = enough && highestClock > 0;
    std::vector<double> clocks;
    for (const ClockSample& sample : samples) {
        if (enough && !atFullClock(sample, highestClock)) {
            ++counted.leftOut;
            continue;
        }
        counted.values.push_back(sample.value);
        clocks.push_back(sample.clock);
    }
    counted.clock = medianOf(std::move(clocks));
    return counted;
}

void checkTiming(size_t maxRuns, double seconds) {
    if (maxRuns == 0)
        failInput("--runs 0: takes a number of at least 1");
    if (!(seconds >= 0) || std::isinf(seconds))
        failInput("--seconds {}: takes a time of at least 0", seconds);
}

Timing timingOf(std::vector<double> times) {
    std::sort(times.begin(), times.end());
    const size_t middle = times.size() / 2;
    const double median = times.size() % 2 == 1 ? times[middle] : (times[middle - 1] + times[middle]) / 2;
    const double middleHalf = times[times.size() * 3 / 4] - times[times.size() / 4];
    Timing timing;
    timing.median = median;
    timing.least = times.front();
    timing.most = times.back();
    timing.spread = median > 0 ? middleHalf / median : 0;
    timing.runs = times.size();
    return timing;
}

Timing timingOf(std::span<const ClockSample> samples, double highestClock) {
    CountedSamples counted = countedSamples(samples, highestClock);
    Timing timing = timingOf(std::move(counted.values));
    timing.clock = counted.clock;
    timing.leftOut = counted.leftOut;
    timing.fullClock = counted.fullClock;
    return timing;
}

std::string clockText(const Timing& timing) {
    if (timing.clock <= 0)
        return "";
    std::string text = fmt::format("  {:.0f} MHz", timing.clock * 1e-6);
    if (!timing.fullClock)
        text += ", unsteady: all runs count";
    else if (timing.leftOut != 0)
        text += fmt::format(", {} runs left out", timing.leftOut);
    return text;
}

bool TimeBudget::allowsAnother(size_t runs, bool enoughAtFullClock) const {
    constexpr double patience = 3;
    const double elapsed = time_.seconds();
    return enoughAtFullClock ? runs < maxRuns_ && elapsed < seconds_ : elapsed < patience * seconds_;
}

std::vector<Timing> measureInTurn(std::span<const std::function<ClockSample()>> runs, const TimingOptions& options,
                                  double highestClock) {
    const auto runOnce = [&](const std::function<ClockSample()>& run) {
        const ClockSample sample = run();
        highestClock = std::max(highestClock, sample.clock);
        return sample;
    };
    const Stopwatch warmUp;
    for (size_t i = 0; i < options.warmUps || warmUp.seconds() < options.warmSeconds; ++i)
        for (const auto& run : runs)
            runOnce(run);
    std::vector<std::vector<ClockSample>> samples(runs.size());
    const auto enough = [&] {
        return std::all_of(samples.begin(), samples.end(), [&](const std::vector<ClockSample>& ofRun) {
            return enoughAtFullClock(ofRun, highestClock);
        });
    };
    const TimeBudget budget(options.maxRuns, options.seconds);
    do
        for (size_t i = 0; i < runs.size(); ++i)
            samples[i].push_back(runOnce(runs[i]));
    while (budget.allowsAnother(samples[0].size(), enough()));
    std::vector<Timing> timings;
    timings.reserve(runs.size());
    for (const std::vector<ClockSample>& ofRun : samples)
        timings.push_back(timingOf(ofRun, highestClock));
    return timings;
}

Timing measure(const std::function<ClockSample()>& run, const TimingOptions& options, double highestClock) {
    return measureInTurn({&run, 1}, options, highestClock)[0];
}

Timing measure(const std::function<double()>& run, const TimingOptions& options) {
    return measure([&] { return ClockSample{run()}; }, options, 0);
}

} // namespace vkf::tools
