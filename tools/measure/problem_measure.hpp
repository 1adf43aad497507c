// SPDX-License-Identifier: MIT
//
// Measures one shape of a bench: plan, warm-up, times and check. A time counts only if the result of the same run is
// right.
#pragma once

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
    // Number of rows of each head to check. 0 = all.
    uint32_t sampleRows = 16;
    // Share of open blocks, if the problem has a block mask.
    double blockDensity = 1;
    // Scratch memory that a backward pass may use to save work.
    uint64_t scratchBytes = 0;
};

// Adds --runs, --seconds and --sample-rows.
void addMeasureOptions(CLI::App& command, MeasureOptions& options);

// What results of both passes have.
struct TimedResult {
    VkfProblem problem{}; // of the forward pass
    // Operations for the rate. The plan's number, but without the closed blocks of a block mask. The caller may replace
    // it.
    double operations = 0;
    Timing timing;
    bool oneSubmission = false; // all steps of a run are one submission, as applications record them
    size_t sets = 0;
    uint64_t tensorBytes = 0; // bytes of one set

    double teraflops() const { return operations / timing.median * 1e-12; }
};

struct BenchResult : TimedResult {
    VkfPlanInfo plan{};
    double blockDensity = 1; // the density from the options
    VkfVerdict verdict{};
};

// Runs a call again and again. The first run goes step by step. If that run takes at most half a second, each later run
// is one submission.
class StepRuns {
public:
    using Record = std::function<void(VkCommandBuffer commands, uint32_t firstStep, uint32_t stepCount)>;

    StepRuns(GpuClock& clock, uint32_t steps) : clock_(&clock), steps_(steps) {}

    ClockSample run(const Record& record); // device seconds of the run, and the lowest clock of its submissions
    bool oneSubmission() const { return oneSubmission_; }

private:
    GpuClock* clock_;
    uint32_t steps_;
    bool oneSubmission_ = false;
};

// Runs a plan in this way.
class PlanRuns {
public:
    PlanRuns(GpuClock& clock, VkfPlan plan, uint32_t steps) : plan_(plan), runs_(clock, steps) {}

    ClockSample run(const VkfBindings& bindings);
    bool oneSubmission() const { return runs_.oneSubmission(); }

private:
    VkfPlan plan_;
    StepRuns runs_;
};

// True if an error is about one shape on one path and others may still work: the path does not support it, its features
// exclude each other, or it is too large.
bool isOfOneShape(VkfResult result);

// Maximum number of sets of buffers over which runs take turns.
inline constexpr size_t maxBufferSets = 16;

// Records steps of a call with the buffers of one set.
using RecordSteps = std::function<void(VkCommandBuffer commands, size_t set, uint32_t first, uint32_t count)>;

// Times a call of so many steps. Its runs take turns over result.sets sets. Calls afterRun after each of many runs.
// Returns the set of the last timed run, so that a check of that set is about what was timed.
size_t timeRuns(host::Device& device, GpuClock& clock, uint32_t steps, const RecordSteps& record,
                const MeasureOptions& options, const std::function<void()>& afterRun, TimedResult& result);

// Calls afterRun after each of many runs. Throws what planning and running throw. The caller judges the verdict.
BenchResult measureProblem(host::Device& device, GpuClock& clock, BenchMemory& memory, const VkfProblem& problem,
                           const MeasureOptions& options, const std::function<void()>& afterRun);

// Device seconds of one step of a plan, which is a submission of its own.
double runStep(host::Device& device, const host::Plan& plan, const VkfBindings& bindings, uint32_t step);

// Throws host::Error, with a result for isOfOneShape, if no time was measured.
void requireTime(double seconds, const host::Device& device);

// ---- Short calls, one after the other in one submission, as the layers of a model make them. ---------------

// Calls with small caches take turns over at most this many sets of buffers. Together the sets are larger than the
// caches of any device.
inline constexpr size_t maxChainSets = 256;

class CallChain {
public:
    // `record` records one call with the buffers of one set. Device and clock must outlive the chain.
    CallChain(host::Device& device, GpuClock& clock, size_t sets, std::function<void(VkCommandBuffer, size_t)> record)
        : device_(device), clock_(clock), sets_(sets), record_(std::move(record)) {}

    // Records `calls` calls with a barrier after each. Returns the seconds of one call.
    ClockSample run(size_t calls);
    // Runs a few calls, then returns the number of calls for a submission. Its fixed cost is then small, and it stays
    // far below any watchdog's limit.
    size_t callsOfSubmission();
    size_t last() const noexcept { return next_; } // the set of the last call

private:
    host::Device& device_;
    GpuClock& clock_;
    size_t sets_;
    size_t next_ = 0;
    std::function<void(VkCommandBuffer, size_t)> record_;
};

// Records all steps of a plan. Throws host::Error.
void recordAttention(VkCommandBuffer commands, VkfPlan plan, const VkfBindings& bindings);

} // namespace vkf::tools
