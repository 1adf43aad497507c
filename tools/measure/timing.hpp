// SPDX-License-Identifier: MIT
#ifndef VKFLASH_TOOLS_TIMING_HPP
#define VKFLASH_TOOLS_TIMING_HPP

#include <chrono>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "measure/clock_samples.hpp"

namespace vkf::tools {

struct TimingOptions {
    size_t warmUps = 1;
    double warmSeconds = 0; // of wall time that warming up takes at least: clocks rise slowly
    size_t maxRuns = 21;
    double seconds = 0.5; // of wall time, after which no further run starts; at least one is made. Where too few runs
                          // were at full clock, they go on up to three times as long, however many
};

// Of --seconds, where measuring goes by these options.
inline constexpr const char* secondsHelp = "most wall time of each; three times that while the GPU's clock is low";

// Before the work: that the numbers given with --runs and --seconds are some.
void checkTiming(size_t maxRuns, double seconds);

// Of the runs that count.
struct Timing {
    double median = 0;
    double least = 0;
    double most = 0;
    double spread = 0; // of the middle half of the runs, as a share of the median
    size_t runs = 0;
    double clock = 0;       // Hz, median; 0 = not known
    size_t leftOut = 0;     // further runs, below the full clock
    bool fullClock = false; // false: too few were at it, so all count; or it is not known
};

// Of at least one run.
Timing timingOf(std::vector<double> times);
// Of those that count by their clocks.
Timing timingOf(std::span<const ClockSample> samples, double highestClock);

// "  1905 MHz, 12 runs left out"; empty where the clock is not known.
std::string clockText(const Timing& timing);

// Whether another run may start. Its time begins with it.
class TimeBudget {
public:
    // As TimingOptions says.
    TimeBudget(size_t maxRuns, double seconds) : maxRuns_(maxRuns), seconds_(seconds) {}
    bool allowsAnother(size_t runs, bool enoughAtFullClock) const;

private:
    using Clock = std::chrono::steady_clock;
    size_t maxRuns_;
    double seconds_;
    Clock::time_point start_ = Clock::now();
};

// `run` does the work once and returns its seconds, with the clock. highestClock is what the process has seen before.
Timing measure(const std::function<ClockSample()>& run, const TimingOptions& options, double highestClock);
// The same of several that take turns, so that what else happens to the device happens to all alike. At least one.
std::vector<Timing> measureInTurn(std::span<const std::function<ClockSample()>> runs, const TimingOptions& options,
                                  double highestClock);
// `run` returns its seconds alone; all count.
Timing measure(const std::function<double()>& run, const TimingOptions& options);

} // namespace vkf::tools

#endif
