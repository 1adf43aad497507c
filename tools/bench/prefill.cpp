// SPDX-License-Identifier: MIT
//
// vkflash bench prefill: measures the shapes on which attention kernels are usually compared, and compares them with
// the times of other implementations.
#include <memory>
#include <optional>
#include <vector>

#include "bench/bench_report.hpp"
#include "bench/bench_results.hpp"
#include "bench/benches.hpp"
#include "bench/comparisons.hpp"
#include "cli/error.hpp"
#include "cli/options.hpp"
#include "cli/progress.hpp"
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
    fmt::print("{:<5}{:>4}{:>7}{:>4}{:>4} {:<7}{:<9}{:>9}{:>9}{:>7}{:>5}{:>9}{:>11}  {:<15}  {}\n", "type", "D", "N",
               "B", "H", "causal", "path", "median", "least", "spread", "runs", "TFLOP/s", "scratch", "error / bound",
               "others: TFLOP/s (ratio)");
}

void printPrefillShape(const VkfProblem& problem, VkfPath path) {
    fmt::print("{:<5}{:>4}{:>7}{:>4}{:>4} {:<7}{:<9}", vkfTypeName(problem.q.type), problem.headDim, problem.queryRows,
               problem.batch, problem.queryHeads, problem.causal ? "yes" : "no", vkfPathName(path));
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

class PrefillBench {
public:
    explicit PrefillBench(const PrefillOptions& options)
        : options_(options), problems_(prefillProblems(options.shapes)), comparisons_(loadComparisons(options.compare)),
          device_(openDevice(options.device)), clock_(device_), memory_(device_) {}

    void run() {
        fmt::print("device  {}, {}\n\n", device_.summary().name, device_.summary().driver);
        printPrefillHeading();
        for (const VkfProblem& problem : problems_) {
            measureOne(problem);
            ++done_;
        }
        progress_.hide();
        printComparisons(comparisons_, results_.size());
        results_.requireRight();
        results_.write(options_.report, "prefill", device_, options_.device,
                       {{"tokens", options_.shapes.tokens},
                        {"width", options_.shapes.width},
                        {"comparisons", comparisonsJson(comparisons_)}});
    }

private:
    void measureOne(const VkfProblem& problem) {
        const double share = static_cast<double>(done_) / static_cast<double>(problems_.size());
        std::optional<BenchResult> result;
        try {
            result =
                measureProblem(device_, clock_, memory_, problem, options_.measure, [&] { progress_.update(share); });
        } catch (const host::Error& error) {
            if (!isOfOneShape(error.result()))
                throw;
            skip(problem, error.what());
            return;
        }
        result->operations = countedOperations(peerShapeOf(problem));
        const std::vector<Peer> peers = peersOf(peerShapeOf(problem), comparisons_);
        progress_.hide();
        printResult(*result, peers);
        results_.judge(result->verdict, result->plan);
        Json json = resultJson(*result);
        json["peers"] = peersJson(peers, result->teraflops());
        results_.add(std::move(json));
    }

    void skip(const VkfProblem& problem, const std::string& reason) {
        progress_.hide();
        printPrefillShape(problem, problem.path);
        fmt::print("  left out: {}\n", reason);
        std::fflush(stdout);
        results_.leaveOut(problem, reason);
    }

    const PrefillOptions& options_;
    std::vector<VkfProblem> problems_;
    std::vector<Comparison> comparisons_;
    host::Device device_;
    GpuClock clock_;
    BenchMemory memory_;
    Progress progress_{"bench prefill"};
    size_t done_ = 0;
    BenchResults results_;
};

} // namespace

void addBenchPrefillCommand(CLI::App& bench, Action& action, const std::string& commandLine) {
    auto options = std::make_shared<PrefillOptions>();
    options->report.commandLine = commandLine;
    CLI::App* command = bench.add_subcommand(
        "prefill", "As many rows as keys, 16384 rows in all or one sequence; 4 B H N^2 D operations, half if causal.");
    addPrefillShapeOptions(*command, options->shapes);
    addCompareOption(*command, options->compare);
    addTimedBenchOptions(*command, options->device, options->measure, options->report);
    command->callback([options, &action] {
        action = [options] {
            checkReport(options->report);
            checkTiming(options->measure.timing.maxRuns, options->measure.timing.seconds);
            PrefillBench(*options).run();
        };
    });
}

} // namespace vkf::tools
