// SPDX-License-Identifier: MIT
//
// vkflash_lab step: the attention of all layers for one new token, appends included. A runtime records such a command
// buffer once and submits it for every token.
#include <chrono>
#include <memory>

#include "bench/bench_report.hpp"
#include "benches/benches.hpp"
#include "benches/decode_step.hpp"
#include "cli/error.hpp"
#include "cli/options.hpp"
#include "cli/progress.hpp"
#include "cli/text.hpp"
#include "cli/verdict.hpp"
#include "measure/own_objects.hpp"
#include "measure/problem_measure.hpp"
#include "measure/timing.hpp"

namespace vkf::tools {

namespace {

struct StepOptions {
    uint32_t layers = 32;
    uint32_t batch = 1;
    uint32_t heads = 32;
    uint32_t kvHeads = 8;
    uint32_t dim = 128;
    std::vector<uint32_t> keys = {4096, 16384};
    std::string type = "f16";
    CacheOptions cache{};
    uint32_t steps = 100;
    DeviceFlags device;
    ReportOptions report;
};

struct StepResult {
    VkfProblem problem{};
    VkfPlanInfo plan{};
    uint32_t keysBefore = 0;
    Timing step;       // device time of a whole step
    Timing appends;    // device time of the appends of all layers
    Timing attention;  // device time of the attention of all layers
    Timing submission; // wall time of the one call that submits the recorded step
    double recordSeconds = 0;
    VkfVerdict verdict{};
};

// Untimed steps before each of the two timed loops.
constexpr uint32_t warmUps = 3;

// Whole steps of one measurement: two timed loops with their warm-ups. Each step makes the caches longer.
uint32_t stepsOf(const StepOptions& options) { return 2 * (warmUps + options.steps); }

VkfProblem problemOf(const StepOptions& options, uint32_t keys) {
    auto problem = make<VkfProblem>();
    problem.batch = options.batch;
    problem.queryHeads = options.heads;
    problem.kvHeads = options.kvHeads;
    problem.queryRows = 1;
    problem.keys = keys + stepsOf(options);
    problem.headDim = options.dim;
    problem.q = problem.k = problem.v = problem.o = dense(parseType("--type", options.type));
    applyCacheOptions(options.cache, problem);
    return problem;
}

std::vector<VkfProblem> problemsOf(const StepOptions& options) {
    constexpr uint32_t most = 1U << 30;
    if (options.layers == 0 || options.steps == 0)
        failInput("--layers {}, --steps {}: take numbers of at least 1", options.layers, options.steps);
    if (options.steps > most / 4)
        failInput("--steps {}: is over the limit of {}", options.steps, most / 4);
    std::vector<VkfProblem> problems;
    for (const uint32_t keys : options.keys) {
        if (keys > most)
            failInput("--keys {}: is over the limit of {}", keys, most);
        problems.push_back(problemOf(options, keys));
        VkfMessage message{};
        check(vkfCheckProblem(&problems.back(), &message), message);
    }
    return problems;
}

StepResult measureStep(host::Device& device, const StepOptions& options, const VkfProblem& problem) {
    using Clock = std::chrono::steady_clock;
    StepResult result;
    result.problem = problem;
    result.keysBefore = problem.keys - stepsOf(options);
    DecodeStep step(device, {options.layers, problem, result.keysBefore});
    result.plan = step.plan();
    const TimingOptions timing = {.warmUps = warmUps, .maxRuns = options.steps, .seconds = 1e9};
    const auto timeOf = [&](void (DecodeStep::*part)(VkCommandBuffer) const) {
        return measure([&] { return device.submit([&](VkCommandBuffer commands) { (step.*part)(commands); }); },
                       timing);
    };
    result.step = timeOf(&DecodeStep::record);
    result.appends = timeOf(&DecodeStep::recordAppends);
    result.attention = timeOf(&DecodeStep::recordAttention);
    requireTime(result.step.median, device);

    CommandBuffer recorded(device);
    const Clock::time_point start = Clock::now();
    step.record(recorded.begin());
    recorded.end();
    result.recordSeconds = std::chrono::duration<double>(Clock::now() - start).count();
    result.submission = measure([&] { return recorded.submit(); }, timing);
    result.verdict = step.verify(stepsOf(options));
    return result;
}

void printStepHeading() {
    fmt::print("{:<6}{:>6}{:>9}{:>11}{:>12}{:>12}{:>12}{:>12}  {}\n", "kv", "page", "keys", "step", "an append",
               "attention", "recording", "submission", "error / bound");
}

void printRow(const StepResult& result, uint32_t layers) {
    const double share = 1.0 / layers;
    const uint32_t page = has(result.problem, VKF_USE_BLOCK_TABLE) ? result.problem.paging.pageSize : 0;
    fmt::print("{:<6}{:>6}{:>9}{:>11}{:>12}{:>12}{:>12}{:>12}  {:.1g} / {:.1g}{}\n", vkfTypeName(result.problem.k.type),
               page == 0 ? "-" : fmt::to_string(page), result.keysBefore, timeText(result.step.median),
               timeText(result.appends.median * share), timeText(result.attention.median * share),
               timeText(result.recordSeconds), timeText(result.submission.median), result.verdict.oError,
               result.verdict.oBound, result.verdict.passed ? "" : "  WRONG");
    std::fflush(stdout);
}

Json json(const StepResult& result, uint32_t layers) {
    Json json = problemJson(result.problem);
    json.update({{"path", vkfPathName(result.plan.path)},
                 {"plan", result.plan.description},
                 {"layers", layers},
                 {"keysBefore", result.keysBefore},
                 {"steps", result.step.runs},
                 {"stepSeconds", result.step.median},
                 {"leastStepSeconds", result.step.least},
                 {"appendSeconds", result.appends.median / layers},
                 {"attentionSeconds", result.attention.median / layers},
                 {"recordSeconds", result.recordSeconds},
                 {"submissionSeconds", result.submission.median},
                 {"leastSubmissionSeconds", result.submission.least},
                 {"error", result.verdict.oError},
                 {"bound", result.verdict.oBound}});
    return json;
}

void benchStep(const StepOptions& options) {
    const std::vector<VkfProblem> problems = problemsOf(options);
    checkReport(options.report);
    host::Device device = openDevice(options.device);
    fmt::print("device  {}, {}\n", device.summary().name, device.summary().driver);
    fmt::print("shape   {} layers, {} sequences, {} query heads over {} KV heads, D = {}, {}\n\n", options.layers,
               options.batch, options.heads, options.kvHeads, options.dim, options.type);
    printStepHeading();
    Progress progress("step");
    Json results = Json::array();
    for (const VkfProblem& problem : problems) {
        progress.update(static_cast<double>(results.size()) / static_cast<double>(problems.size()));
        const StepResult result = measureStep(device, options, problem);
        progress.hide();
        printRow(result, options.layers);
        requirePassed(result.verdict, result.plan.description);
        results.push_back(json(result, options.layers));
    }
    if (options.device.validation)
        checkValidation(device);
    writeReport(options.report, "step", device.summary(), {{"results", std::move(results)}});
}

} // namespace

void addStepCommand(CLI::App& program, Action& action, const std::string& commandLine) {
    auto options = std::make_shared<StepOptions>();
    options->report.commandLine = commandLine;
    CLI::App* command = program.add_subcommand(
        "step", "The attention of all layers for one token, appends included: device time and host time.");
    addValue(*command, "--layers", options->layers, "number of layers; each has its own cache");
    addValue(*command, "--batch", options->batch, "number of sequences");
    addValue(*command, "--heads", options->heads, "number of query heads");
    addValue(*command, "--kv-heads", options->kvHeads, "number of KV heads");
    addValue(*command, "--dim", options->dim, "head dimension");
    addList(*command, "--keys", options->keys, "list of numbers of keys in the cache before the first step");
    addValue(*command, "--type", options->type, "type of q, new k, new v and o: f32, f16 or bf16");
    addOneTypeCacheOptions(*command, options->cache);
    addValue(*command, "--steps", options->steps, "number of steps to time");
    addDeviceOptions(*command, options->device);
    addReportOptions(*command, options->report);
    command->callback([options, &action] { action = [options] { benchStep(*options); }; });
}

} // namespace vkf::tools
