// SPDX-License-Identifier: MIT
#include "measure/clock_samples.hpp"

#include <algorithm>

namespace vkf::tools {

namespace {

constexpr double leastShareOfClock = 0.97;
constexpr size_t enoughSamples = 10;
constexpr size_t enoughShare = 3; // one run of this many

double medianOf(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

} // namespace

bool atFullClock(const ClockSample& sample, double highestClock) {
    return sample.clock >= leastShareOfClock * highestClock;
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

} // namespace vkf::tools
