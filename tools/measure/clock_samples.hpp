// SPDX-License-Identifier: MIT
//
// Which runs of a measurement count, by the clock that the GPU had: its multiprocessors may run at a fifth of their
// clock for a while in the middle of a bench, and a median over both says nothing about either.
#ifndef VKFLASH_TOOLS_CLOCK_SAMPLES_HPP
#define VKFLASH_TOOLS_CLOCK_SAMPLES_HPP

#include <cstddef>
#include <span>
#include <vector>

namespace vkf::tools {

struct ClockSample {
    double value = 0; // seconds, or a ratio of them
    double clock = 0; // Hz, behind that run; 0 = not known
};

// The clock is within 3 % of the highest. Always true where no clock is known.
bool atFullClock(const ClockSample& sample, double highestClock);

// At least ten runs are at full clock, or a third of all. highestClock is of all runs of the process, these included.
bool enoughAtFullClock(std::span<const ClockSample> samples, double highestClock);

struct CountedSamples {
    std::vector<double> values;
    double clock = 0;       // Hz, the median of those that count; 0 = not known
    size_t leftOut = 0;     // runs below the full clock
    bool fullClock = false; // false: too few are at it, so all count; or it is not known
};

// Of at least one sample.
CountedSamples countedSamples(std::span<const ClockSample> samples, double highestClock);

} // namespace vkf::tools

#endif
