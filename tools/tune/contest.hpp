// SPDX-License-Identifier: MIT
//
// Compares the times of several ways to compute one problem. They take turns, so that rising or falling clocks favour
// none.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "measure/gpu_clock.hpp"
#include "measure/timing.hpp"

namespace vkf::tools {

struct TunerOptions {
    // Wall time of runs before each comparison, because clocks rise slowly.
    double warmSeconds = 0.05;
    double seconds = 0.15; // wall time of each comparison
    size_t maxRuns = 21;   // runs of each tile in a comparison
    // Share by which a tile must be faster to be taken. The tuner measures it twice.
    double margin = 0.03;
    uint32_t sampleRows = 4; // number of rows of each head to check
};

// One way to compute a problem. Tuners derive from it what they need to run it.
struct Contestant {
    std::vector<ClockSample> times;
};

// Calls make(0) to make(count - 1) from several threads, because compilers are slow. Rethrows what a call throws.
void makeAll(size_t count, const std::function<void(size_t)>& make);

class Contest {
public:
    using Run = std::function<ClockSample(Contestant&)>;

    Contest(const GpuClock& clock, const TunerOptions& options, Run run)
        : clock_(clock), options_(options), run_(std::move(run)) {}

    double medianOf(const Contestant& one) const { return medianOf(one.times); } // of the samples at full clock

    // Measures the built-in choice and all candidates, and sorts the fastest candidates to the front.
    template <typename Derived> void rank(Derived& builtIn, std::vector<Derived>& candidates) {
        std::vector<Contestant*> all = {&builtIn};
        for (Derived& one : candidates)
            all.push_back(&one);
        compare(all);
        std::stable_sort(candidates.begin(), candidates.end(),
                         [&](const Derived& a, const Derived& b) { return medianOf(a) < medianOf(b); });
    }

    // True if the candidate is faster by the margin at the median of pairs of runs. A pair has the lower clock of its
    // two runs.
    bool isFaster(Contestant& candidate, Contestant& builtIn, double margin);
    // True if the candidate is faster by the margin of the options, twice. Both must have times of one comparison.
    bool isTaken(Contestant& candidate, Contestant& builtIn);

private:
    double medianOf(const std::vector<ClockSample>& samples) const;
    bool enoughOf(const std::vector<Contestant*>& contestants) const;
    void warmUp(Contestant& contestant);
    void compare(const std::vector<Contestant*>& contestants);

    const GpuClock& clock_;
    const TunerOptions& options_;
    Run run_;
};

} // namespace vkf::tools
