// SPDX-License-Identifier: MIT
#ifndef VKFLASH_TOOLS_TIMING_HPP
#define VKFLASH_TOOLS_TIMING_HPP

#include <cstddef>
#include <functional>
#include <vector>

namespace vkf::tools {

struct TimingOptions {
    size_t warmUps = 1;
    double warmSeconds = 0; // of wall time that warming up takes at least: clocks rise slowly
    size_t maxRuns = 21;
    double seconds = 0.5; // of wall time, after which no further run starts; at least one is made
};

// Before the work: that the numbers given with --runs and --seconds are some.
void checkTiming(size_t maxRuns, double seconds);

struct Timing {
    double median = 0;
    double least = 0;
    double most = 0;
    double spread = 0; // of the middle half of the runs, as a share of the median
    size_t runs = 0;
};

// Of at least one run.
Timing timingOf(std::vector<double> times);

// `run` does the work once and returns its seconds.
Timing measure(const std::function<double()>& run, const TimingOptions& options);

} // namespace vkf::tools

#endif
