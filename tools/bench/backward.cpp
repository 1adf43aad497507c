// SPDX-License-Identifier: MIT
//
// vkflash bench backward: measures the backward pass on the shapes of `bench prefill`, and compares it with the times
// of other implementations.
#include <functional>
#include <memory>
#include <vector>

#include "bench/bench_report.hpp"
#include "bench/benches.hpp"
#include "bench/shape_bench.hpp"
#include "cli/error.hpp"
#include "cli/options.hpp"
#include "cli/text.hpp"
#include "measure/gradient/gradient_measure.hpp"
#include "model/gradient_traffic.hpp"
#include "shapes/prefill_shapes.hpp"

namespace vkf::tools {

namespace {

struct BackwardBenchOptions {
    PrefillShapes shapes{.batchOne = "no"};
    uint32_t kvHeads = 0; // 0 = as many as query heads
    DeviceFlags device;
    MeasureOptions measure = {.timing = {.warmUps = 1, .warmSeconds = 0.03, .maxRuns = 1000, .seconds = 0.3},
                              .sampleRows = 8};
    std::vector<std::string> compare;
    ReportOptions report;
};

std::vector<VkfProblem> backwardProblems(const BackwardBenchOptions& options) {
    std::vector<VkfProblem> problems = prefillProblems(options.shapes);
    for (VkfProblem& problem : problems) {
        if (options.kvHeads != 0 && problem.queryHeads % options.kvHeads != 0)
            failInput("--kv-heads {}: does not divide the {} query heads of D = {}", options.kvHeads,
                      problem.queryHeads, problem.headDim);
        problem.kvHeads = options.kvHeads != 0 ? options.kvHeads : problem.queryHeads;
    }
    return problems;
}

// ---- Output ----------------------------------------------------------------------------------------

void printBackwardHeading() {
    fmt::print("\n{:<5}{:>4}{:>7}{:>4}{:>4}{:>4} {:<7}{:<9}{:>9}{:>9}{:>7}{:>5}{:>9}{:>11}  {:<15}  {}\n", "type", "D",
               "N", "B", "H", "KV", "causal", "path", "median", "least", "spread", "runs", "TFLOP/s", "scratch",
               "error / bound", "others: TFLOP/s (ratio)");
}

void printBackwardShape(const VkfProblem& problem, VkfPath path) {
    fmt::print("{:<5}{:>4}{:>7}{:>4}{:>4}{:>4} {:<7}{:<9}", vkfTypeName(problem.q.type), problem.headDim,
               problem.queryRows, problem.batch, problem.queryHeads, problem.kvHeads,
               has(problem, VKF_USE_CAUSAL) ? "yes" : "no", vkfPathName(path));
}

void printBackward(const GradientResult& result, const std::vector<Peer>& peers) {
    const Timing& timing = result.timing;
    const VkfGradientError& worst = worstOf(result.verdict);
    printBackwardShape(result.problem, result.info.path);
    fmt::print("{:>9}{:>9}{:>6.1f}%{:>5}{:>9.4g}{:>11}  {:<15}{}", timeText(timing.median), timeText(timing.least),
               timing.spread * 100, timing.runs, result.teraflops(),
               bytesText(static_cast<double>(result.info.scratchBytes)),
               fmt::format("{:.1g} / {:.1g}", worst.error, worst.bound), clockText(timing));
    printPeers(peers, result.teraflops());
    fmt::print("{}\n", result.verdict.passed ? "" : "  WRONG");
    std::fflush(stdout);
}

Json backwardJson(const GradientResult& result, const std::vector<Peer>& peers) {
    const auto errorJson = [](const VkfGradientError& error) {
        return Json{{"error", error.error}, {"bound", error.bound}};
    };
    const double stored = storedBackwardTraffic(trafficShape(result.problem)).total();
    Json json = problemJson(result.problem);
    json.update({{"path", vkfPathName(result.info.path)},
                 {"plan", result.info.description},
                 {"rowTile", result.info.rowTile},
                 {"keyTile", result.info.keyTile},
                 {"medianSeconds", result.timing.median},
                 {"leastSeconds", result.timing.least},
                 {"mostSeconds", result.timing.most},
                 {"spread", result.timing.spread},
                 {"runs", result.timing.runs},
                 {"steps", result.info.stepCount},
                 {"submissions", result.oneSubmission ? 1 : result.info.stepCount},
                 {"bufferSets", result.sets},
                 {"tensorBytes", result.tensorBytes},
                 {"scratchBytes", result.info.scratchBytes},
                 {"bandKeys", result.info.bandKeys},
                 {"minimumBytes", result.info.minimumBytes},
                 {"storedBytes", stored},
                 {"storedBytesPerSecond", stored / result.timing.median},
                 {"operations", result.operations},
                 {"teraflops", result.teraflops()}});
    json.update(errorJson(worstOf(result.verdict)));
    json["gradients"] = {{"dq", errorJson(result.verdict.dq)},
                         {"dk", errorJson(result.verdict.dk)},
                         {"dv", errorJson(result.verdict.dv)}};
    json.update(clockJson(result.timing));
    json["peers"] = peersJson(peers, result.teraflops());
    return json;
}

// ---- Runs --------------------------------------------------------------------------------------------

class BackwardBench : public ShapeBench {
public:
    explicit BackwardBench(const BackwardBenchOptions& options)
        : ShapeBench("backward", backwardProblems(options), options.compare, options.device, options.report),
          options_(options), memory_(device()) {}

private:
    void printHeading() const override { printBackwardHeading(); }

    void printShape(const VkfProblem& problem) const override { printBackwardShape(problem, problem.path); }

    void measure(const VkfProblem& problem, const std::function<void()>& afterRun) override {
        GradientResult result = measureGradient(device(), clock(), memory_, problem, options_.measure, afterRun);
        PeerShape shape = peerShapeOf(problem);
        shape.backward = true;
        result.operations = countedOperations(shape);
        const std::vector<Peer> peers = peersOf(shape, comparisons());
        hideProgress();
        printBackward(result, peers);
        results().add(backwardJson(result, peers), result.verdict, result.info);
    }

    const BackwardBenchOptions& options_;
    GradientMemory memory_;
};

} // namespace

void addBenchBackwardCommand(CLI::App& bench, Action& action, const std::string& commandLine) {
    auto options = std::make_shared<BackwardBenchOptions>();
    options->report.commandLine = commandLine;
    CLI::App* command = bench.add_subcommand(
        "backward", "The backward pass: as many rows as keys, 16384 rows in all; 10 B H N^2 D operations, half if "
                    "causal.");
    command->footer("vkflash bench backward --dims 128 --rows 1024,4096 --json times.json");
    addPrefillShapeOptions(*command, options->shapes);
    for (const char* flag : {"--kv-type", "--page-size"}) // the backward pass has no block types and no pages
        command->remove_option(command->get_option(flag));
    command->add_option("--kv-heads", options->kvHeads, "number of KV heads (default: as many as query heads)");
    addCompareOption(*command, options->compare);
    addTimedBenchOptions(*command, options->device, options->measure, options->report);
    command->callback([options, &action] {
        action = [options] {
            options->measure.scratchBytes = mostScratchBytes(options->shapes.cache.scratch);
            checkReport(options->report);
            checkTiming(options->measure.timing.maxRuns, options->measure.timing.seconds);
            BackwardBench(*options).run({{"tokens", options->shapes.tokens}, {"width", options->shapes.width}});
        };
    });
}

} // namespace vkf::tools
