// SPDX-License-Identifier: MIT
//
// vkflash bench prefill and vkflash bench backward: measure the forward or the backward pass on the shapes on which
// attention kernels are usually compared, and compare them with the times of other implementations.
#include <functional>
#include <memory>
#include <vector>

#include "bench/bench_report.hpp"
#include "bench/benches.hpp"
#include "bench/shape_bench.hpp"
#include "cli/error.hpp"
#include "cli/options.hpp"
#include "cli/text.hpp"
#include "measure/backward_measure.hpp"
#include "measure/problem_measure.hpp"
#include "model/traffic.hpp"
#include "shapes/bench_shapes.hpp"

namespace vkf::tools {

namespace {

struct PrefillOptions {
    PrefillShapes shapes;
    uint32_t kvHeads = 0; // 0 = as many as query heads
    DeviceFlags device;
    MeasureOptions measure = {.timing = {.warmUps = 1, .warmSeconds = 0.03, .maxRuns = 1000, .seconds = 0.3},
                              .sampleRows = 8};
    std::vector<std::string> compare;
    ReportOptions report;
};

std::vector<VkfProblem> problemsOf(const PrefillOptions& options) {
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

void printPrefillHeading() {
    fmt::print("\n{:<5}{:>4}{:>7}{:>4}{:>4}{:>4} {:<7}{:<9}{:>9}{:>9}{:>7}{:>5}{:>10}{:>11}  {:<15}  {}\n", "type", "D",
               "N", "B", "H", "KV", "causal", "path", "median", "least", "spread", "runs", "TFLOP/s", "scratch",
               "error / bound", "others: TFLOP/s (ratio)");
}

void printPrefillShape(const VkfProblem& problem, VkfPath path) {
    fmt::print("{:<5}{:>4}{:>7}{:>4}{:>4}{:>4} {:<7}{:<9}", vkfTypeName(problem.q.type), problem.headDim,
               problem.queryRows, problem.batch, problem.queryHeads, problem.kvHeads,
               has(problem, VKF_USE_CAUSAL) ? "yes" : "no", vkfPathName(path));
}

// What the table shows besides the times.
struct PrefillRow {
    VkfPath path;
    uint64_t scratchBytes;
    double error, bound;
    bool passed;
};

void printResult(const TimedResult& result, const PrefillRow& row, const std::vector<Peer>& peers) {
    const Timing& timing = result.timing;
    printPrefillShape(result.problem, row.path);
    fmt::print("{:>9}{:>9}{:>6.1f}%{:>5}{:>10.4g}{:>11}  {:<15}{}", timeText(timing.median), timeText(timing.least),
               timing.spread * 100, timing.runs, result.teraflops(), bytesText(static_cast<double>(row.scratchBytes)),
               fmt::format("{:.1g} / {:.1g}", row.error, row.bound), clockText(timing));
    printPeers(peers, result.teraflops());
    fmt::print("{}\n", row.passed ? "" : "  WRONG");
    std::fflush(stdout);
}

Json backwardJson(const BackwardResult& result) {
    const auto errorJson = [](const VkfGradientError& error) {
        return Json{{"error", error.error}, {"bound", error.bound}};
    };
    const double stored = storedBackwardTraffic(trafficShape(result.problem)).total();
    Json json = problemJson(result.problem);
    json.update({{"path", vkfPathName(result.info.path)},
                 {"plan", result.info.description},
                 {"rowTile", result.info.rowTile},
                 {"keyTile", result.info.keyTile}});
    json.update(timesJson(result.timing));
    json.update(runJson(result, result.info.stepCount));
    json.update({{"scratchBytes", result.info.scratchBytes},
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
    return json;
}

// ---- Runs --------------------------------------------------------------------------------------------

class PrefillBench : public ShapeBench {
public:
    PrefillBench(const char* name, const PrefillOptions& options)
        : ShapeBench(name, problemsOf(options), options.measure.timing, options.compare, options.device,
                     options.report),
          options_(options), memory_(device()) {}

protected:
    const MeasureOptions& measureOptions() const { return options_.measure; }

private:
    void printHeading() const override { printPrefillHeading(); }

    void printShape(const VkfProblem& problem) const override { printPrefillShape(problem, problem.path); }

    void measure(const VkfProblem& problem, const std::function<void()>& afterRun) override {
        BenchResult result = measureProblem(device(), clock(), memory_, problem, measureOptions(), afterRun);
        result.operations = countedOperations(peerShapeOf(problem));
        const std::vector<Peer> peers = peersOf(peerShapeOf(problem), comparisons());
        hideProgress();
        printResult(result,
                    {result.plan.path, result.plan.scratchBytes, result.verdict.oError, result.verdict.oBound,
                     result.verdict.passed != 0},
                    peers);
        Json json = resultJson(result);
        json["peers"] = peersJson(peers, result.teraflops());
        results().add(std::move(json), result.verdict, result.plan);
    }

    const PrefillOptions& options_;
    BenchMemory memory_;
};

class BackwardBench : public PrefillBench {
public:
    explicit BackwardBench(const PrefillOptions& options) : PrefillBench("backward", options), memory_(device()) {}

private:
    void measure(const VkfProblem& problem, const std::function<void()>& afterRun) override {
        BackwardResult result = measureBackward(device(), clock(), memory_, problem, measureOptions(), afterRun);
        PeerShape shape = peerShapeOf(problem);
        shape.backward = true;
        result.operations = countedOperations(shape);
        const std::vector<Peer> peers = peersOf(shape, comparisons());
        const VkfGradientError& worst = worstOf(result.verdict);
        hideProgress();
        printResult(result,
                    {result.info.path, result.info.scratchBytes, worst.error, worst.bound, result.verdict.passed != 0},
                    peers);
        Json json = backwardJson(result);
        json["peers"] = peersJson(peers, result.teraflops());
        results().add(std::move(json), result.verdict, result.info);
    }

    BackwardMemory memory_;
};

// Adds the flags of both benches. `run` starts one of them.
void addPrefillOptions(CLI::App& command, const std::shared_ptr<PrefillOptions>& options, Action& action,
                       void (*run)(PrefillOptions& options)) {
    addPrefillShapeOptions(command, options->shapes);
    addCompareOption(command, options->compare);
    addTimedBenchOptions(command, options->device, options->measure, options->report);
    command.callback([options, &action, run] { action = [options, run] { run(*options); }; });
}

Json shapesHead(const PrefillShapes& shapes) { return {{"tokens", shapes.tokens}, {"width", shapes.width}}; }

} // namespace

void addBenchPrefillCommand(CLI::App& bench, Action& action) {
    auto options = std::make_shared<PrefillOptions>();
    CLI::App* command = bench.add_subcommand(
        "prefill", "As many rows as keys, 16384 rows in all or one sequence; 4 B H N^2 D operations, half if causal.");
    command->footer("vkflash bench prefill --dims 128 --rows 1024,4096 --json times.json");
    addPrefillOptions(*command, options, action,
                      [](PrefillOptions& chosen) { PrefillBench("prefill", chosen).run(shapesHead(chosen.shapes)); });
}

void addBenchBackwardCommand(CLI::App& bench, Action& action) {
    auto options = std::make_shared<PrefillOptions>();
    options->shapes.batchOne = "no";
    CLI::App* command = bench.add_subcommand(
        "backward", "The backward pass: as many rows as keys, 16384 rows in all; 10 B H N^2 D operations, half if "
                    "causal.");
    command->footer("vkflash bench backward --dims 128 --rows 1024,4096 --json times.json");
    addPrefillOptions(*command, options, action, [](PrefillOptions& chosen) {
        chosen.measure.scratchBytes = mostScratchBytes(chosen.shapes.cache.scratch);
        BackwardBench(chosen).run(shapesHead(chosen.shapes));
    });
    for (const char* flag : {"--kv-type", "--page-size"}) // the backward pass has no block types and no pages
        command->remove_option(command->get_option(flag));
    command->add_option("--kv-heads", options->kvHeads, "number of KV heads (default: as many as query heads)");
}

} // namespace vkf::tools
