// SPDX-License-Identifier: MIT
//
// vkflash_lab long: runs one problem whose score matrix fits no memory, step by step. Reports the time of the longest
// submission and the memory that the driver uses.
#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "bench/bench_report.hpp"
#include "benches/benches.hpp"
#include "cli/error.hpp"
#include "cli/options.hpp"
#include "cli/progress.hpp"
#include "cli/text.hpp"
#include "cli/verdict.hpp"
#include "measure/memory_use.hpp"
#include "measure/problem_measure.hpp"

namespace vkf::tools {

namespace {

struct LongOptions {
    ShapeOptions shape = {.heads = 4, .rows = 1048576, .dim = 128};
    std::string causal = "yes";
    std::string path = "auto";
    uint64_t stepOperations = 0; // 0 = the library's default
    uint32_t sampleRows = 4;
    DeviceFlags device;
    ReportOptions report;
};

// The driver's count of memory. Empty where the driver does not report it.
struct MemoryUse {
    std::optional<uint64_t> before;      // with pipelines, without tensors and scratch
    std::optional<uint64_t> withTensors; // with tensors and scratch
    std::optional<uint64_t> most;        // maximum after any step
};

struct LongResult {
    VkfPlanInfo plan{};
    Timing steps;           // times of single steps
    double seconds = 0;     // sum of the device times of all steps
    double wallSeconds = 0; // from the first submission to the end of the last
    uint64_t tensorBytes = 0;
    MemoryUse memory;
    VkfVerdict verdict{};

    double teraflops() const { return plan.operations / seconds * 1e-12; }
};

VkfProblem problemOf(const LongOptions& options) {
    MathOptions math;
    math.path = options.path;
    if (options.causal == "yes")
        math.causal = "bottom-right";
    else if (options.causal != "no")
        failInput("--causal {}: takes yes or no", options.causal);
    VkfProblem problem = makeProblem(options.shape, math);
    problem.maxStepOperations = options.stepOperations;
    if (problem.batch == 0 || problem.queryHeads == 0 || problem.queryRows == 0)
        failInput("--batch, --heads, --rows: a problem without rows takes no time");
    return problem;
}

void runSteps(host::Device& device, const host::Plan& plan, const VkfBindings& bindings, LongResult& result) {
    const uint32_t count = plan.info().stepCount;
    Progress progress("attention, step by step");
    std::vector<double> times;
    const Stopwatch time;
    for (uint32_t step = 0; step < count; ++step) {
        times.push_back(runStep(device, plan, bindings, step));
        result.memory.most = std::max(result.memory.most, deviceMemoryInUse(device));
        progress.update(static_cast<double>(step + 1) / count);
    }
    result.wallSeconds = time.seconds();
    for (const double seconds : times)
        result.seconds += seconds;
    requireTime(result.seconds, device);
    result.steps = timingOf(std::move(times));
}

LongResult runLong(host::Device& device, const VkfProblem& problem, uint32_t sampleRows) {
    const host::Plan plan(device, problem);
    LongResult result;
    result.plan = plan.info();
    result.memory.before = deviceMemoryInUse(device);
    BenchMemory memory(device);
    memory.prepare(problem, plan.info().scratchBytes, 1);
    result.tensorBytes = memory.tensorBytes();
    result.memory.withTensors = deviceMemoryInUse(device);
    runSteps(device, plan, memory.bindings(0), result);
    result.verdict = verifyResult(problem, memory.download(0), result.plan, sampleRows);
    return result;
}

std::string memoryText(const std::optional<uint64_t>& bytes) {
    return bytes ? bytesText(static_cast<double>(*bytes)) : "unknown";
}

void print(const LongResult& result) {
    fmt::print("plan     {}\n", result.plan.description);
    fmt::print("memory   {} of tensors, {} of scratch\n", bytesText(static_cast<double>(result.tensorBytes)),
               bytesText(static_cast<double>(result.plan.scratchBytes)));
    fmt::print("driver   {} in use before, {} with tensors, {} at most while running\n",
               memoryText(result.memory.before), memoryText(result.memory.withTensors), memoryText(result.memory.most));
    fmt::print("steps    {}, longest {}, median {}\n", result.steps.runs, timeText(result.steps.most),
               timeText(result.steps.median));
    fmt::print("time     {} on the device, {} in all, {:.4g} TFLOP/s\n", timeText(result.seconds),
               timeText(result.wallSeconds), result.teraflops());
    fmt::print("checked  {}: {}\n", errorText(result.verdict.oError, result.verdict.oBound),
               result.verdict.passed ? "right" : "WRONG");
    std::fflush(stdout);
}

Json json(const VkfProblem& problem, const LongResult& result, uint32_t sampleRows) {
    Json json = problemJson(problem);
    json.update({{"path", vkfPathName(result.plan.path)},
                 {"plan", result.plan.description},
                 {"steps", result.steps.runs},
                 {"longestStepSeconds", result.steps.most},
                 {"medianStepSeconds", result.steps.median},
                 {"deviceSeconds", result.seconds},
                 {"wallSeconds", result.wallSeconds},
                 {"operations", result.plan.operations},
                 {"teraflops", result.teraflops()},
                 {"tensorBytes", result.tensorBytes},
                 {"scratchBytes", result.plan.scratchBytes},
                 {"driverBytesBefore", bytesJson(result.memory.before)},
                 {"driverBytesWithTensors", bytesJson(result.memory.withTensors)},
                 {"driverBytesMost", bytesJson(result.memory.most)},
                 {"sampledRowsOfEachHead", sampleRows},
                 {"error", result.verdict.oError},
                 {"bound", result.verdict.oBound}});
    return json;
}

void benchLong(const LongOptions& options) {
    const VkfProblem problem = problemOf(options);
    checkReport(options.report);
    host::Device device = openDevice(options.device);
    fmt::print("device   {}, {}\n", device.summary().name, device.summary().driver);
    std::fflush(stdout);
    const LongResult result = runLong(device, problem, options.sampleRows);
    print(result);
    requirePassed(result.verdict, result.plan.description);
    if (options.device.validation)
        checkValidation(device);
    writeReport(options.report, "long", device.summary(),
                {{"results", Json::array({json(problem, result, options.sampleRows)})}});
}

} // namespace

void addLongCommand(CLI::App& program, Action& action) {
    const auto [command, options] = addCommand<LongOptions>(
        program, action, "long", "One very long sequence, step by step: longest step, time, memory and result.",
        "vkflash_lab long --rows 1048576 --json long.json", benchLong);
    addShapeOptions(*command, options->shape);
    addValue(*command, "--causal", options->causal, "yes or no");
    addValue(*command, "--path", options->path, "auto, or the name of a path");
    command->add_option("--step-operations", options->stepOperations,
                        "maximum operations of a step (default: the library's)");
    addValue(*command, "--sample-rows", options->sampleRows, "number of rows of each head to check; 0 = all");
    addDeviceOptions(*command, options->device);
    addTuningOption(*command, options->device.tuning);
    addReportOptions(*command, options->report);
}

} // namespace vkf::tools
