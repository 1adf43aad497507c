// SPDX-License-Identifier: MIT
//
// Decides which runs of a measurement count, by the clock of the GPU during each run. Its multiprocessors may run at a
// fifth of their clock for a while. A median over runs at both clocks describes neither.
#ifndef VKFLASH_TOOLS_CLOCK_SAMPLES_HPP
#define VKFLASH_TOOLS_CLOCK_SAMPLES_HPP

#include <cstddef>
#include <span>
#include <vector>

namespace vkf::tools {

struct ClockSample {
    double value = 0; // seconds, or a ratio of two times
    double clock = 0; // Hz, measured after that run; 0 = not known
};

// True if the clock is within 3 % of the highest. Always true where the clock is not known.
bool atFullClock(const ClockSample& sample, double highestClock);

// True if at least ten runs, or a third of all runs, are at full clock. highestClock covers all runs of the process,
// these included.
bool enoughAtFullClock(std::span<const ClockSample> samples, double highestClock);

struct CountedSamples {
    std::vector<double> values;
    double clock = 0;   // Hz, median of the runs that count; 0 = not known
    size_t leftOut = 0; // runs below the full clock
    // False if the clock is not known, or if too few runs are at full clock. All runs count then.
    bool fullClock = false;
};

// Needs at least one sample.
CountedSamples countedSamples(std::span<const ClockSample> samples, double highestClock);

} // namespace vkf::tools

#endif
