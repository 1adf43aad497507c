// SPDX-License-Identifier: MIT
#include "timing.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "error.hpp"

namespace vkf::tools {

namespace {

class Stopwatch {
public:
    double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

private:
    using Clock = std::chrono::steady_clock;
    Clock::time_point start_ = Clock::now();
};

} // namespace

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
    return {median, times.front(), times.back(), median > 0 ? middleHalf / median : 0, times.size()};
}

Timing measure(const std::function<double()>& run, const TimingOptions& options) {
    const Stopwatch warmUp;
    for (size_t i = 0; i < options.warmUps || warmUp.seconds() < options.warmSeconds; ++i)
        run();
    std::vector<double> times;
    const Stopwatch stopwatch;
    do
        times.push_back(run());
    while (times.size() < options.maxRuns && stopwatch.seconds() < options.seconds);
    return timingOf(std::move(times));
}

} // namespace vkf::tools
