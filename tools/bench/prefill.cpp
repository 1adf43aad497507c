// SPDX-License-Identifier: MIT
//
// vkflash bench prefill: measures the shapes on which attention kernels are usually compared, and compares them with
// the times of other implementations.
#include <functional>
#include <memory>
#include <vector>

#include "bench/bench_report.hpp"
#include "bench/benches.hpp"
#include "bench/shape_bench.hpp"
#include "cli/error.hpp"
#include "cli/options.hpp"
#include "cli/text.hpp"
#include "measure/problem_measure.hpp"
#include "shapes/prefill_shapes.hpp"

namespace vkf::tools {

namespace {

struct PrefillOptions {
    PrefillShapes shapes;
    DeviceFlags device;
    MeasureOptions measure = {.timing = {.warmUps = 1, .warmSeconds = 0.03, .maxRuns = 1000, .seconds = 0.3},
                              .sampleRows = 8};
    std::vector<std::string> compare;
    ReportOptions report;
};

// ---- Output ----------------------------------------------------------------------------------------

void printPrefillHeading() {
    fmt::print("\n{:<5}{:>4}{:>7}{:>4}{:>4} {:<7}{:<9}{:>9}{:>9}{:>7}{:>5}{:>9}{:>11}  {:<15}  {}\n", "type", "D", "N",
               "B", "H", "causal", "path", "median", "least", "spread", "runs", "TFLOP/s", "scratch", "error / bound",
               "others: TFLOP/s (ratio)");
}

void printPrefillShape(const VkfProblem& problem, VkfPath path) {
    fmt::print("{:<5}{:>4}{:>7}{:>4}{:>4} {:<7}{:<9}", vkfTypeName(problem.q.type), problem.headDim, problem.queryRows,
               problem.batch, problem.queryHeads, has(problem, VKF_USE_CAUSAL) ? "yes" : "no", vkfPathName(path));
}

void printResult(const BenchResult& result, const std::vector<Peer>& peers) {
    const Timing& timing = result.timing;
    printPrefillShape(result.problem, result.plan.path);
    fmt::print("{:>9}{:>9}{:>6.1f}%{:>5}{:>9.4g}{:>11}  {:<15}{}", timeText(timing.median), timeText(timing.least),
               timing.spread * 100, timing.runs, result.teraflops(),
               bytesText(static_cast<double>(result.plan.scratchBytes)),
               fmt::format("{:.1g} / {:.1g}", result.verdict.oError, result.verdict.oBound), clockText(timing));
    printPeers(peers, result.teraflops());
    fmt::print("{}\n", result.verdict.passed ? "" : "  WRONG");
    std::fflush(stdout);
}

// ---- Runs --------------------------------------------------------------------------------------------

class PrefillBench : public ShapeBench {
public:
    explicit PrefillBench(const PrefillOptions& options)
        : ShapeBench("prefill", prefillProblems(options.shapes), options.compare, options.device, options.report),
          options_(options), memory_(device()) {}

private:
    void printHeading() const override { printPrefillHeading(); }

    void printShape(const VkfProblem& problem) const override { printPrefillShape(problem, problem.path); }

    void measure(const VkfProblem& problem, const std::function<void()>& afterRun) override {
        BenchResult result = measureProblem(device(), clock(), memory_, problem, options_.measure, afterRun);
        result.operations = countedOperations(peerShapeOf(problem));
        const std::vector<Peer> peers = peersOf(peerShapeOf(problem), comparisons());
        hideProgress();
        printResult(result, peers);
        Json json = resultJson(result);
        json["peers"] = peersJson(peers, result.teraflops());
        results().add(std::move(json), result.verdict, result.plan);
    }

    const PrefillOptions& options_;
    BenchMemory memory_;
};

} // namespace

void addBenchPrefillCommand(CLI::App& bench, Action& action, const std::string& commandLine) {
    auto options = std::make_shared<PrefillOptions>();
    options->report.commandLine = commandLine;
    CLI::App* command = bench.add_subcommand(
        "prefill", "As many rows as keys, 16384 rows in all or one sequence; 4 B H N^2 D operations, half if causal.");
    command->footer("vkflash bench prefill --dims 128 --rows 1024,4096 --json times.json");
    addPrefillShapeOptions(*command, options->shapes);
    addCompareOption(*command, options->compare);
    addTimedBenchOptions(*command, options->device, options->measure, options->report);
    command->callback([options, &action] {
        action = [options] {
            checkReport(options->report);
            checkTiming(options->measure.timing.maxRuns, options->measure.timing.seconds);
            PrefillBench(*options).run({{"tokens", options->shapes.tokens}, {"width", options->shapes.width}});
        };
    });
}

} // namespace vkf::tools
