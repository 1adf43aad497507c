// SPDX-License-Identifier: MIT
#include "timing.hpp"

#include <algorithm>
#include <chrono>

namespace vkf::tools {

Timing measure(const std::function<double()>& run, const TimingOptions& options) {
    for (size_t i = 0; i < options.warmUps; ++i)
        run();
    std::vector<double> times;
    const auto start = std::chrono::steady_clock::now();
    const auto elapsed = [&start] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    do
        times.push_back(run());
    while (times.size() < options.maxRuns && elapsed() < options.seconds);
    std::sort(times.begin(), times.end());
    const size_t middle = times.size() / 2;
    const double median = times.size() % 2 == 1 ? times[middle] : (times[middle - 1] + times[middle]) / 2;
    return {median, times.front(), times.back(), times.size()};
}

} // namespace vkf::tools
