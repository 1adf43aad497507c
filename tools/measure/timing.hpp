// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace vkf::tools {

// ---- Which runs count. The multiprocessors of a GPU may run at a fifth of their clock for a while, and a median over
// runs at both clocks describes neither. --------------------------------------------------------------

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

// ---- Times -------------------------------------------------------------------------------------------

struct TimingOptions {
    size_t warmUps = 1;
    // Minimum wall time of the warm-up, because clocks rise slowly.
    double warmSeconds = 0;
    size_t maxRuns = 21;
    // Wall time after which no further run starts. There is at least one run. If too few runs were at full clock,
    // measuring goes on for up to three times this time, with any number of runs.
    double seconds = 0.5;
};

// Help text of --seconds where these options control the measurement.
inline constexpr const char* secondsHelp =
    "maximum wall time of each measurement; three times that while the GPU's clock is low";

// Call it before the work. Throws ProgramError if --runs or --seconds makes no sense.
void checkTiming(size_t maxRuns, double seconds);

// Statistics of the runs that count.
struct Timing {
    double median = 0;
    double least = 0;
    double most = 0;
    // Width of the middle half of the runs, relative to the median.
    double spread = 0;
    size_t runs = 0;
    double clock = 0;   // Hz, median; 0 = not known
    size_t leftOut = 0; // further runs that were below full clock
    // False if the clock is not known, or if too few runs were at full clock. All runs count then.
    bool fullClock = false;
};

// Needs at least one run.
Timing timingOf(std::vector<double> times);
// Takes only the runs that count by their clocks.
Timing timingOf(std::span<const ClockSample> samples, double highestClock);

// "  1905 MHz, 12 runs left out". Empty where the clock is not known.
std::string clockText(const Timing& timing);

// Wall time since the object was created.
class Stopwatch {
public:
    double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

private:
    using Clock = std::chrono::steady_clock;
    Clock::time_point start_ = Clock::now();
};

// Decides whether another run may start. Its time begins when the object is created.
class TimeBudget {
public:
    // The limits are those of TimingOptions.
    TimeBudget(size_t maxRuns, double seconds) : maxRuns_(maxRuns), seconds_(seconds) {}
    bool allowsAnother(size_t runs, bool enoughAtFullClock) const;

private:
    size_t maxRuns_;
    double seconds_;
    Stopwatch time_;
};

// `run` does the work once and returns its seconds with the clock. highestClock is the highest clock that the process
// has seen before.
Timing measure(const std::function<ClockSample()>& run, const TimingOptions& options, double highestClock);
// Measures several works that take turns, so that all have the same conditions. Needs at least one.
std::vector<Timing> measureInTurn(std::span<const std::function<ClockSample()>> runs, const TimingOptions& options,
                                  double highestClock);
// `run` returns only its seconds. All runs count.
Timing measure(const std::function<double()>& run, const TimingOptions& options);

} // namespace vkf::tools
