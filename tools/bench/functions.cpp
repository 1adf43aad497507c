// SPDX-License-Identifier: MIT
//
// vkflash bench functions: measures masks and scores of examples/functions, each in turn with the built-in feature that
// computes the same, and with a dense boolean mask.
#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/bench_report.hpp"
#include "bench/benches.hpp"
#include "bench/function_table.hpp"
#include "bench/shape_bench.hpp"
#include "cli/error.hpp"
#include "cli/options.hpp"
#include "cli/program/help.hpp"
#include "cli/text.hpp"
#include "cli/verdict.hpp"
#include "measure/backward_measure.hpp"
#include "measure/call_runs.hpp"

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

// ---- Measurement -------------------------------------------------------------------------------------

// Another way to compute what the functions compute.
struct ComparedCall {
    VkfPath path{};
    Timing timing;
};

struct FunctionBackward {
    BackwardResult result; // of the call with functions
    std::optional<ComparedCall> builtIn{};
    std::optional<ComparedCall> mask{};
};

struct FunctionResult {
    BenchResult result;                        // the call with functions, which makes its map of tiles
    std::optional<Timing> keptMap{};           // the call with a map that was made before (VKF_USE_TILE_MAP)
    std::optional<ClockSample> makeMap{};      // vkfCmdMapTiles alone
    std::optional<ComparedCall> builtIn{};     // on the path of the call with functions
    std::optional<ComparedCall> builtInAuto{}; // on the path that the library chooses, if it is another one
    std::optional<ComparedCall> mask{};        // a dense boolean mask
    std::string compiledKernel;                // a kernel of the path
    double compileSeconds = 0;                 // wall time from GLSL to the SPIR-V of that kernel
    double planSeconds = 0;                    // wall time to create the plan, which compiles the kernels of the call
    std::optional<FunctionBackward> backward{};
};

using OptionalRuns = std::unique_ptr<CallRuns>;

// The calls of a row. Absent ones are null.
struct RowRuns {
    OptionalRuns own, keptMap, builtIn, builtInAuto, mask;

    std::vector<CallRuns*> all() const {
        std::vector<CallRuns*> present;
        for (CallRuns* one : {own.get(), keptMap.get(), builtIn.get(), builtInAuto.get(), mask.get()})
            if (one != nullptr)
                present.push_back(one);
        return present;
    }
};

// Sets buffers of all calls up, and runs each of them once.
void begin(const RowRuns& runs, BenchMemory& memory) {
    const std::vector<CallRuns*> all = runs.all();
    uint64_t scratch = 0;
    for (const CallRuns* one : all)
        scratch = std::max<uint64_t>(scratch, one->info().scratchBytes);
    memory.prepare(runs.own->call().problem, scratch, maxBufferSets);
    for (CallRuns* one : all)
        one->begin();
}

ClockSample timeOfMap(host::Device& device, GpuClock& clock, const BenchMemory& memory, const CallRuns& runs) {
    CallChain chain(device, clock, memory.sets(),
                    [&runs](VkCommandBuffer commands, size_t set) { runs.recordMap(commands, set); });
    return chain.run(chain.callsOfSubmission());
}

// The calls take turns. Returns their times in the order of RowRuns::all.
std::vector<Timing> timeInTurn(const RowRuns& runs, const TimingOptions& options, const GpuClock& clock,
                               const std::function<void()>& afterRun) {
    std::vector<std::function<ClockSample()>> turns;
    for (CallRuns* one : runs.all())
        turns.emplace_back([one, &afterRun] {
            const ClockSample sample = one->run();
            afterRun();
            return sample;
        });
    return measureInTurn(turns, options, clock.highest());
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
    fmt::print("{:<11}{:<9}{:>7}{:>10}{:>20}{}{}{:>10}{:>10.4g}{:>6}  {:.1g} / {:.1g}{}\n", "  backward",
               vkfPathName(result.info.path), "", timeText(result.timing.median), "",
               comparedText(backward.builtIn, result.timing), comparedText(backward.mask, result.timing), "",
               result.teraflops(), result.timing.runs, worst.error, worst.bound, clockText(result.timing));
}

void printRow(const FunctionSubject& subject, const FunctionResult& row) {
    const BenchResult& result = row.result;
    printSubject(subject, result.plan.path);
    fmt::print("{:>10}{:>10}{:>10}{}{}{:>10}{:>10.4g}{:>6}  {:.1g} / {:.1g}{}{}\n", timeText(result.timing.median),
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
        : ShapeBench("functions", problemsOfSubjects(subjects, &FunctionSubject::plain), options.measure.timing, {},
                     options.device, options.report),
          options_(options), subjects_(subjects), memory_(device()), backwardMemory_(device()) {}

private:
    void printHeading() const override {
        const ShapeOptions& shape = options_.shape;
        fmt::print("shape   {}, {} sequences, {} heads, D = {}. Ratios: time with functions / other time. "
                   "kept map: with a map made before.\n\n",
                   shape.type, shape.batch, shape.heads, shape.dim);
        fmt::print("{:<11}{:<9}{:>7}{:>10}{:>10}{:>10}{:>10}{:>7}{:>10}{:>7}{:>10}{:>10}{:>6}  {}\n", "function",
                   "path", "rows", "median", "kept map", "the map", "built-in", "ratio", "mask", "ratio", "compile",
                   "TFLOP/s", "runs", "error / bound");
    }

    void printShape(const VkfProblem& problem) const override { printSubject(subjects_[index()], problem.path); }

    void measure(const VkfProblem& problem, const std::function<void()>& afterRun) override {
        const FunctionSubject& subject = subjects_[index()];
        const FunctionResult row = measureRow(subject.function, problem, afterRun);
        hideProgress();
        printRow(subject, row);
        results().add(rowJson(subject, row), row.result.verdict, row.result.plan);
        if (row.backward)
            requirePassed(row.backward->result.verdict, row.backward->result.info.description);
    }

    Json skipped(const VkfProblem& /*problem*/) override { return {{"function", subjects_[index()].function.name}}; }

    // `plain` is the call without functions. Calls afterRun after each of many runs. Throws what compiling, planning
    // and running throw. The caller judges the verdicts.
    FunctionResult measureRow(const BenchFunction& function, const VkfProblem& plain,
                              const std::function<void()>& afterRun);
    FunctionBackward measureBackwardRow(const BenchFunction& function, const VkfReferenceFunctions& formulas,
                                        VkfProblem plain, VkfFunctions handle, const std::function<void()>& afterRun);

    const FunctionOptions& options_;
    const std::vector<FunctionSubject>& subjects_;
    BenchMemory memory_; // of all calls of a row, which have the same tensors
    BackwardMemory backwardMemory_;
};

FunctionResult FunctionsBench::measureRow(const BenchFunction& function, const VkfProblem& plain,
                                          const std::function<void()>& afterRun) {
    ExampleContext context = contextOf(function, plain);
    VkfReferenceFunctions formulas = exampleOf(function.file).formulas;
    formulas.user = &context;
    FunctionResult row;
    const functions::Source source = sourceOf(function, plain);
    const functions::Functions compiled = functions::compile(source);
    const auto runsOf = [&](ExtraCall call) {
        return std::make_unique<CallRuns>(device(), clock(), memory_, std::move(call));
    };

    RowRuns runs;
    ExtraCall own = functionCall(function, plain, compiled.handle());
    own.pairsOfHead = keptPairs(formulas, plain);
    const Stopwatch ofPlan;
    runs.own = runsOf(std::move(own));
    row.planSeconds = ofPlan.seconds();
    const VkfPath path = runs.own->info().path;
    row.compiledKernel = functions::kernelsOf(vkfPathName(path)).front();
    const Stopwatch ofKernel;
    functions::compileToFile(source, {row.compiledKernel});
    row.compileSeconds = ofKernel.seconds();

    VkfProblem onPath = plain;
    onPath.path = path; // AUTO may have another path for other features
    if (runs.own->info().tileMapBytes != 0) {
        ExtraCall kept = functionCall(function, onPath, compiled.handle());
        enable(kept.problem, VKF_USE_TILE_MAP);
        runs.keptMap = runsOf(std::move(kept));
    }
    if (function.useBuiltIn != nullptr) {
        runs.builtIn = runsOf(builtInCall(function, onPath));
        VkfProblem automatic = plain;
        automatic.path = VKF_PATH_AUTO;
        runs.builtInAuto = runsOf(builtInCall(function, automatic));
        if (runs.builtInAuto->info().path == path)
            runs.builtInAuto = nullptr;
    }
    if (function.comparesToMask)
        runs.mask = runsOf(maskCall(formulas, onPath));

    begin(runs, memory_);
    const std::vector<Timing> timings = timeInTurn(runs, options_.measure.timing, clock(), afterRun);
    requireTime(timings.front().median, device());
    size_t next = 1;
    const auto compared = [&](const OptionalRuns& one) {
        return one ? std::optional(ComparedCall{one->info().path, timings[next++]}) : std::nullopt;
    };
    if (runs.keptMap) {
        row.keptMap = timings[next++];
        row.makeMap = timeOfMap(device(), clock(), memory_, *runs.keptMap);
    }
    row.builtIn = compared(runs.builtIn);
    row.builtInAuto = compared(runs.builtInAuto);
    row.mask = compared(runs.mask);
    row.result = runs.own->checked(timings.front(), options_.measure.sampleRows, &formulas);
    for (CallRuns* other : {runs.keptMap.get(), runs.builtIn.get(), runs.builtInAuto.get(), runs.mask.get()}) {
        if (other != nullptr) // times compare only if the calls compute the same
            requirePassed(other->checked(timings.front(), 1, &formulas, &runs.own->call()).verdict,
                          other->info().description);
    }
    if (options_.backward)
        row.backward = measureBackwardRow(function, formulas, plain, compiled.handle(), afterRun);
    if (const double pairs = runs.own->call().pairsOfHead; row.backward && pairs != 0)
        row.backward->result.operations = 2.5 * operationsOf(plain, pairs); // five products of matrices, not two
    return row;
}

FunctionBackward FunctionsBench::measureBackwardRow(const BenchFunction& function,
                                                    const VkfReferenceFunctions& formulas, VkfProblem plain,
                                                    VkfFunctions handle, const std::function<void()>& afterRun) {
    if (plain.path != VKF_PATH_SCALAR && plain.path != VKF_PATH_COOPMAT)
        plain.path = VKF_PATH_AUTO; // the backward pass has no other path
    const auto timed = [&](const ExtraCall& call, const VkfReferenceFunctions* ofCall) {
        return measureBackward(device(), clock(), backwardMemory_, call.problem, options_.measure, afterRun,
                               call.extras, ofCall);
    };
    FunctionBackward row{timed(functionCall(function, plain, handle), &formulas)};
    plain.path = row.result.info.path;
    const auto compared = [&](const ExtraCall& call) { return ComparedCall{plain.path, timed(call, nullptr).timing}; };
    if (function.useBuiltIn != nullptr)
        row.builtIn = compared(builtInCall(function, plain));
    if (function.comparesToMask)
        row.mask = compared(maskCall(formulas, plain));
    return row;
}

} // namespace

void addBenchFunctionsCommand(CLI::App& bench, Action& action) {
    const auto [command, options] = addCommand<FunctionOptions>(
        bench, action, "functions",
        "Masks and scores of examples/functions, each in turn with the built-in feature and a dense mask.",
        "vkflash bench functions --only natten,documents --backward --json times.json",
        [](const FunctionOptions& chosen) {
            const std::vector<FunctionSubject> subjects = subjectsOf(chosen);
            FunctionsBench(chosen, subjects).run();
        });
    addShapeOptions(*command, options->shape);
    addList(*command, "--paths", options->paths, "list of paths");
    command->add_option("--only", options->only, "list of functions (default: all)")->delimiter(',');
    command->add_flag("--backward", options->backward, "also measure the backward pass");
    addTimedBenchOptions(*command, options->device, options->measure, options->report);
}

} // namespace vkf::tools
