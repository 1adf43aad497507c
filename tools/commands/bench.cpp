// SPDX-License-Identifier: MIT
//
// vkflash bench: measures each path on a grid of shapes. Its sub-commands are benches for one purpose each.
#include <cstdio>
#include <functional>
#include <memory>
#include <vector>

#include "bench/bench_report.hpp"
#include "bench/benches.hpp"
#include "bench/shape_bench.hpp"
#include "cli/error.hpp"
#include "cli/options.hpp"
#include "cli/program/help.hpp"
#include "cli/text.hpp"
#include "measure/problem_measure.hpp"
#include "shapes/bench_shapes.hpp"

namespace vkf::tools {

namespace {

struct BenchOptions {
    ProblemGrid grid = {
        .rows = {512, 1024, 2048}, .dims = {64, 128}, .types = {"f16", "f32"}, .paths = {"scalar", "standard"}};
    std::vector<double> blockDensities;
    DeviceFlags device;
    MeasureOptions measure;
    ReportOptions report;
};

// One problem of the grid, with the share of open blocks of its block mask.
struct GridSubject {
    VkfProblem problem;
    double blockDensity;
};

std::vector<GridSubject> subjectsOf(const BenchOptions& options) {
    for (const double density : options.blockDensities)
        checkDensity(density, options.grid.math.maskBlock);
    const bool some = !options.blockDensities.empty();
    const std::vector<double> densities = some ? options.blockDensities : std::vector<double>{1};
    std::vector<GridSubject> subjects;
    for (const VkfProblem& problem : problemsOf(options.grid))
        for (const double density : densities)
            subjects.push_back({problem, density});
    return subjects;
}

// ---- Output ----------------------------------------------------------------------------------------

void printGridShape(const VkfProblem& problem, VkfPath path) {
    fmt::print("{:<6}{:>5}{:>8}{:>8}  {:<10}", vkfTypeName(problem.q.type), problem.headDim, problem.queryRows,
               problem.keys, vkfPathName(path));
}

void printRow(const BenchResult& result) {
    printGridShape(result.problem, result.plan.path);
    fmt::print("{:>11}{:>11}{:>11}{:>6}{:>12.3g}  {:.1g} / {:.1g}{}{}\n", timeText(result.timing.median),
               timeText(result.timing.least), timeText(result.timing.most), result.timing.runs, result.teraflops(),
               result.verdict.oError, result.verdict.oBound, clockText(result.timing),
               result.verdict.passed ? "" : "  WRONG");
    if (has(result.problem, VKF_USE_BLOCK_MASK))
        fmt::print("        {:.4g} of the blocks of {} open\n", result.blockDensity,
                   result.problem.blockMask.blockSize);
    std::fflush(stdout);
}

// ---- Runs --------------------------------------------------------------------------------------------

class GridBench : public ShapeBench {
public:
    GridBench(const BenchOptions& options, const std::vector<GridSubject>& subjects)
        : ShapeBench("grid", problemsOfSubjects(subjects, &GridSubject::problem), options.measure.timing, {},
                     options.device, options.report),
          options_(options), subjects_(subjects), memory_(device()) {}

private:
    void printHeading() const override {
        fmt::print("shape   {} sequences, {} heads over {} KV heads{}\n\n", options_.grid.shape.batch,
                   options_.grid.shape.heads, subjects_.empty() ? 0 : subjects_[0].problem.kvHeads,
                   options_.grid.math.causal.empty() ? "" : ", causal");
        fmt::print("{:<6}{:>5}{:>8}{:>8}  {:<10}{:>11}{:>11}{:>11}{:>6}{:>12}  {}\n", "type", "D", "rows", "keys",
                   "path", "median", "least", "most", "runs", "TFLOP/s", "error / bound");
    }

    void printShape(const VkfProblem& problem) const override { printGridShape(problem, problem.path); }

    void measure(const VkfProblem& problem, const std::function<void()>& afterRun) override {
        MeasureOptions measure = options_.measure;
        measure.blockDensity = subjects_[index()].blockDensity;
        const BenchResult result = measureProblem(device(), clock(), memory_, problem, measure, afterRun);
        hideProgress();
        printRow(result);
        results().add(resultJson(result), result.verdict, result.plan);
    }

    const BenchOptions& options_;
    const std::vector<GridSubject>& subjects_;
    BenchMemory memory_;
};

void benchAll(const BenchOptions& options) {
    const std::vector<GridSubject> subjects = subjectsOf(options);
    GridBench(options, subjects).run();
}

// `bench --rows 512 prefill` would look as if the flag applied to prefill.
void requireNoneBefore(const CLI::App& bench) {
    for (const CLI::Option* option : bench.get_options())
        if (option->count() != 0)
            failInput("{}: stands before \"{}\"; put the flags of that bench after its name", option->get_name(),
                      bench.get_subcommands().front()->get_name());
}

} // namespace

void addBenchCommand(CLI::App& program, Action& action) {
    auto options = std::make_shared<BenchOptions>();
    CLI::App* command = program.add_subcommand(
        "bench", "Times each path on a grid of shapes and checks each result. Where the GPU's clock is known, runs "
                 "more than 3 % below the highest clock do not count.");
    command->footer("vkflash bench prefill --dims 128 --rows 1024,4096 --json times.json");
    addGridOptions(*command, options->grid);
    addMaskBlockOption(*command, options->grid.math.maskBlock);
    command
        ->add_option("--block-density", options->blockDensities,
                     "list of shares of open blocks of the block mask (default: 1)")
        ->delimiter(',');
    addTimedBenchOptions(*command, options->device, options->measure, options->report);
    for (const auto add : {addBenchPrefillCommand, addBenchBackwardCommand, addBenchDecodeCommand})
        add(*command, action);
#if defined(VKFLASH_HAS_FUNCTIONS)
    addBenchFunctionsCommand(*command, action);
#endif
    command->require_subcommand(0, 1);
    // CLI11 calls this callback after the callback of the sub-command, if there is one.
    command->callback([options, command, &action] {
        if (command->get_subcommands().empty())
            action = [options] { benchAll(*options); };
        else
            requireNoneBefore(*command);
    });
}

} // namespace vkf::tools
