// SPDX-License-Identifier: MIT
//
// One shape of a bench run: planned, warmed up, timed and checked. A time counts only if the same run's result is
// right.
#ifndef VKFLASH_TOOLS_BENCH_MEASURE_HPP
#define VKFLASH_TOOLS_BENCH_MEASURE_HPP

#include <functional>
#include <string>

#include <CLI/CLI.hpp>

#include "measure/gpu_clock.hpp"
#include "measure/problem_memory.hpp"
#include "measure/timing.hpp"
#include "vkflash/reference.h"

namespace vkf::tools {

struct MeasureOptions {
    TimingOptions timing = {.warmUps = 3, .maxRuns = 50, .seconds = 1};
    uint32_t sampleRows = 16; // of each head, to check; 0 = all
    double blockDensity = 1;  // share of open blocks, if there is a block mask
};

// --runs, --seconds and --sample-rows.
void addMeasureOptions(CLI::App& command, MeasureOptions& options);

struct BenchResult {
    VkfProblem problem{};
    VkfPlanInfo plan{};
    double operations = 0;   // that the rate counts; the plan's, but for what a block mask closes, unless whoever asked
                             // counts otherwise
    double blockDensity = 1; // as asked for
    Timing timing;
    bool oneSubmission = false; // all steps of a run, as an application records them
    size_t sets = 0;
    uint64_t tensorBytes = 0; // of one set
    VkfVerdict verdict{};

    double teraflops() const { return operations / timing.median * 1e-12; }
};

// A plan that runs again and again: whole, once its first run has shown that no submission takes long.
class PlanRuns {
public:
    PlanRuns(GpuClock& clock, VkfPlan plan, uint32_t steps) : clock_(&clock), plan_(plan), steps_(steps) {}

    ClockSample run(const VkfBindings& bindings); // GPU seconds, and the lowest clock of the submissions
    bool oneSubmission() const { return oneSubmission_; }

private:
    GpuClock* clock_;
    VkfPlan plan_;
    uint32_t steps_;
    bool oneSubmission_ = false;
};

// Whether a refusal is about one shape on one path and leaves the others: not built for it, or too large.
bool isOfOneShape(VkfResult result);

// Sets of buffers to take turns over, at most.
inline constexpr size_t mostBufferSets = 16;

// afterRun is called after each of many runs. Throws what planning and running throw; the verdict is the
// caller's to judge.
BenchResult measureProblem(host::Device& device, GpuClock& clock, BenchMemory& memory, const VkfProblem& problem,
                           const MeasureOptions& options, const std::function<void()>& afterRun);

// GPU seconds of one step of a plan, in a submission of its own.
double runStep(host::Device& device, const host::Plan& plan, const VkfBindings& bindings, uint32_t step);

// ProgramError if the device's timestamps tell nothing.
void requireTime(double seconds, const host::Device& device);

} // namespace vkf::tools

#endif
