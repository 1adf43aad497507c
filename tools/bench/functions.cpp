// SPDX-License-Identifier: MIT
//
// vkflash bench functions: measures masks and scores of examples/functions, each in turn with the built-in feature that
// computes the same, and with a dense boolean mask.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/bench_report.hpp"
#include "bench/benches.hpp"
#include "bench/function_measure.hpp"
#include "bench/function_table.hpp"
#include "bench/shape_bench.hpp"
#include "cli/error.hpp"
#include "cli/options.hpp"
#include "cli/program/help.hpp"
#include "cli/text.hpp"
#include "cli/verdict.hpp"

namespace vkf::tools {

namespace {

struct FunctionOptions {
    ShapeOptions shape = {.heads = 16, .rows = 8192, .dim = 128};
    std::vector<std::string> paths = {"auto"};
    std::vector<std::string> only;
    bool backward = false;
    DeviceFlags device;
    MeasureOptions measure = {.timing = {.warmUps = 1, .warmSeconds = 0.05, .maxRuns = 1000, .seconds = 0.5},
                              .sampleRows = 8};
    ReportOptions report;
};

// A row to measure, with the plain problem that it changes.
struct FunctionSubject {
    BenchFunction function;
    VkfProblem plain;
};

std::vector<FunctionSubject> subjectsOf(const FunctionOptions& options) {
    if (options.shape.rows == 0)
        failInput("--rows 0: a problem without rows takes no time");
    std::vector<FunctionSubject> subjects;
    for (const std::string& path : options.paths) {
        VkfProblem plain = makeProblem(options.shape, {});
        if (plain.queryRows != plain.keys)
            failInput("--keys {}: the functions of this bench need as many keys as rows", plain.keys);
        plain.path = parsePath("--paths", path);
        for (const BenchFunction& function : selectFunctions(options.only))
            subjects.push_back({function, plain});
    }
    return subjects;
}

// ---- Output ----------------------------------------------------------------------------------------

double ratioTo(const ComparedCall& other, const Timing& own) { return own.median / other.timing.median; }

std::string comparedText(const std::optional<ComparedCall>& other, const Timing& own) {
    return other ? fmt::format("{:>10}{:>7.3f}", timeText(other->timing.median), ratioTo(*other, own))
                 : fmt::format("{:>17}", "");
}

void printSubject(const FunctionSubject& subject, VkfPath path) {
    fmt::print("{:<11}{:<9}{:>7}", subject.function.name, vkfPathName(path), subject.plain.queryRows);
}

void printBackward(const FunctionBackward& backward) {
    const BackwardResult& result = backward.result;
    const VkfGradientError& worst = worstOf(result.verdict);
    fmt::print("{:<11}{:<9}{:>7}{:>10}{:>20}{}{}{:>10}{:>9.4g}{:>6}  {:.1g} / {:.1g}{}\n", "  backward",
               vkfPathName(result.info.path), "", timeText(result.timing.median), "",
               comparedText(backward.builtIn, result.timing), comparedText(backward.mask, result.timing), "",
               result.teraflops(), result.timing.runs, worst.error, worst.bound, clockText(result.timing));
}

void printRow(const FunctionSubject& subject, const FunctionResult& row) {
    const BenchResult& result = row.result;
    printSubject(subject, result.plan.path);
    fmt::print("{:>10}{:>10}{:>10}{}{}{:>10}{:>9.4g}{:>6}  {:.1g} / {:.1g}{}{}\n", timeText(result.timing.median),
               row.keptMap ? timeText(row.keptMap->median) : "", row.makeMap ? timeText(row.makeMap->value) : "",
               comparedText(row.builtIn, result.timing), comparedText(row.mask, result.timing),
               timeText(row.compileSeconds), result.teraflops(), result.timing.runs, result.verdict.oError,
               result.verdict.oBound, clockText(result.timing), result.verdict.passed ? "" : "  WRONG");
    if (row.builtInAuto)
        fmt::print("  built-in on path {}: {}, ratio {:.3f}\n", vkfPathName(row.builtInAuto->path),
                   timeText(row.builtInAuto->timing.median), ratioTo(*row.builtInAuto, result.timing));
    if (row.backward)
        printBackward(*row.backward);
    std::fflush(stdout);
}

// Adds a call that was compared, under a name.
void addCompared(Json& json, const char* name, const std::optional<ComparedCall>& other, const Timing& own) {
    if (other)
        json[name] = {{"path", vkfPathName(other->path)},
                      {"seconds", other->timing.median},
                      {"spread", other->timing.spread},
                      {"ratio", ratioTo(*other, own)}};
}

Json backwardJson(const FunctionBackward& backward) {
    const BackwardResult& result = backward.result;
    const VkfGradientError& worst = worstOf(result.verdict);
    Json json = {{"path", vkfPathName(result.info.path)}, {"plan", result.info.description}};
    json.update(timesJson(result.timing));
    json.update({{"scratchBytes", result.info.scratchBytes},
                 {"teraflops", result.teraflops()},
                 {"error", worst.error},
                 {"bound", worst.bound}});
    addCompared(json, "builtIn", backward.builtIn, result.timing);
    addCompared(json, "mask", backward.mask, result.timing);
    json.update(clockJson(result.timing));
    return json;
}

Json rowJson(const FunctionSubject& subject, const FunctionResult& row) {
    const Timing& own = row.result.timing;
    Json json = {{"function", subject.function.name}, {"file", subject.function.file}};
    json.update(resultJson(row.result));
    json.update({{"compiledKernel", row.compiledKernel},
                 {"compileSeconds", row.compileSeconds},
                 {"planSeconds", row.planSeconds},
                 {"tileMapBytes", row.result.plan.tileMapBytes}});
    if (row.makeMap)
        json["mapSeconds"] = row.makeMap->value;
    if (row.keptMap)
        json["keptMapSeconds"] = row.keptMap->median;
    addCompared(json, "builtIn", row.builtIn, own);
    addCompared(json, "builtInAuto", row.builtInAuto, own);
    addCompared(json, "mask", row.mask, own);
    if (row.backward)
        json["backward"] = backwardJson(*row.backward);
    return json;
}

// ---- Runs --------------------------------------------------------------------------------------------

class FunctionsBench : public ShapeBench {
public:
    FunctionsBench(const FunctionOptions& options, const std::vector<FunctionSubject>& subjects)
        : ShapeBench("functions", problemsOf(subjects), {}, options.device, options.report), options_(options),
          subjects_(subjects), measure_(device(), clock(), options.measure) {}

private:
    static std::vector<VkfProblem> problemsOf(const std::vector<FunctionSubject>& subjects) {
        std::vector<VkfProblem> problems;
        problems.reserve(subjects.size());
        for (const FunctionSubject& subject : subjects)
            problems.push_back(subject.plain);
        return problems;
    }

    void printHeading() const override {
        const ShapeOptions& shape = options_.shape;
        fmt::print("shape   {}, {} sequences, {} heads, D = {}. Ratios: time with functions / other time. "
                   "kept map: with a map made before.\n\n",
                   shape.type, shape.batch, shape.heads, shape.dim);
        fmt::print("{:<11}{:<9}{:>7}{:>10}{:>10}{:>10}{:>10}{:>7}{:>10}{:>7}{:>10}{:>9}{:>6}  {}\n", "function", "path",
                   "rows", "median", "kept map", "the map", "built-in", "ratio", "mask", "ratio", "compile", "TFLOP/s",
                   "runs", "error / bound");
    }

    void printShape(const VkfProblem& problem) const override { printSubject(subjects_[index()], problem.path); }

    void measure(const VkfProblem& problem, const std::function<void()>& afterRun) override {
        const FunctionSubject& subject = subjects_[index()];
        const FunctionResult row = measure_.measure(subject.function, problem, options_.backward, afterRun);
        hideProgress();
        printRow(subject, row);
        results().add(rowJson(subject, row), row.result.verdict, row.result.plan);
        if (row.backward)
            requirePassed(row.backward->result.verdict, row.backward->result.info.description);
    }

    Json skipped(const VkfProblem& /*problem*/) override { return {{"function", subjects_[index()].function.name}}; }

    const FunctionOptions& options_;
    const std::vector<FunctionSubject>& subjects_;
    FunctionMeasure measure_;
};

void addFunctionBenchOptions(CLI::App& command, FunctionOptions& options) {
    addShapeOptions(command, options.shape);
    addList(command, "--paths", options.paths, "list of paths");
    command.add_option("--only", options.only, "list of functions (default: all)")->delimiter(',');
    command.add_flag("--backward", options.backward, "also measure the backward pass");
    addTimedBenchOptions(command, options.device, options.measure, options.report);
}

} // namespace

void addBenchFunctionsCommand(CLI::App& bench, Action& action, const std::string& commandLine) {
    auto options = std::make_shared<FunctionOptions>();
    options->report.commandLine = commandLine;
    CLI::App* command = bench.add_subcommand(
        "functions",
        "Masks and scores of examples/functions, each in turn with the built-in feature and a dense mask.");
    command->footer("vkflash bench functions --only natten,documents --backward --json times.json");
    addFunctionBenchOptions(*command, *options);
    command->callback([options, &action] {
        action = [options] {
            checkReport(options->report);
            checkTiming(options->measure.timing.maxRuns, options->measure.timing.seconds);
            options->measure.scratchBytes = mostScratchBytes({});
            const std::vector<FunctionSubject> subjects = subjectsOf(*options);
            FunctionsBench(*options, subjects).run();
        };
    });
}

} // namespace vkf::tools
