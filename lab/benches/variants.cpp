// SPDX-License-Identifier: MIT
//
// vkflash_lab variants: measures masks, windows and score terms. Each variant runs in turn with its base call on the
// same path.
#include <memory>
#include <optional>
#include <vector>

#include "bench/bench_report.hpp"
#include "bench/shape_bench.hpp"
#include "benches/benches.hpp"
#include "benches/variant_table.hpp"
#include "cli/error.hpp"
#include "cli/options.hpp"
#include "cli/text.hpp"
#include "measure/call_runs.hpp"

namespace vkf::tools {

namespace {

struct VariantOptions {
    ShapeOptions shape = {.heads = 16, .rows = 8192, .dim = 128};
    std::vector<std::string> paths = {"auto"};
    std::vector<uint32_t> decodeKeys = {16384, 65536};
    std::vector<std::string> decodePaths = {"auto"};
    std::vector<std::string> only;
    DeviceFlags device;
    MeasureOptions measure = {.timing = {.warmUps = 1, .warmSeconds = 0.05, .maxRuns = 1000, .seconds = 0.5},
                              .sampleRows = 8};
    ReportOptions report;
};

// ---- Problems --------------------------------------------------------------------------------------

// A row to measure, with the plain problem that it changes.
struct VariantSubject {
    Variant variant;
    VkfProblem plain;
};

std::vector<VkfProblem> prefillProblems(const VariantOptions& options) {
    std::vector<VkfProblem> problems;
    if (options.shape.rows == 0)
        failInput("--rows 0: a problem without rows takes no time");
    for (const std::string& path : options.paths) {
        problems.push_back(makeProblem(options.shape, {}));
        problems.back().path = parsePath("--paths", path);
    }
    return problems;
}

// One query row; 32 heads over 8 KV heads.
std::vector<VkfProblem> decodeProblems(const VariantOptions& options) {
    std::vector<VkfProblem> problems;
    for (const std::string& path : options.decodePaths)
        for (const uint32_t keys : options.decodeKeys) {
            if (keys == 0)
                failInput("--decode-keys 0: a cache without keys takes no time");
            ShapeOptions shape = {.heads = 32, .kvHeads = 8, .rows = 1, .keys = keys, .dim = options.shape.dim};
            shape.type = options.shape.type;
            shape.keysGiven = true;
            problems.push_back(makeProblem(shape, {}));
            problems.back().path = parsePath("--decode-paths", path);
        }
    return problems;
}

std::vector<VariantSubject> subjectsOf(const VariantOptions& options) {
    const std::vector<Variant> selected = selectVariants(options.only);
    std::vector<VariantSubject> subjects;
    const auto add = [&](Workload workload, const std::vector<VkfProblem>& problems) {
        for (const VkfProblem& problem : problems)
            for (const Variant& variant : selected)
                if (variant.workload == workload)
                    subjects.push_back({variant, problem});
    };
    add(Workload::prefill, prefillProblems(options));
    add(Workload::decode, decodeProblems(options));
    return subjects;
}

// ---- Measurement -------------------------------------------------------------------------------------

struct VariantResult {
    BenchResult result;
    size_t calls = 1;             // calls in one submission
    std::optional<Timing> base{}; // the base call that took turns with this one
    double baseOperations = 0;

    // Relative to the base.
    double timeRatio() const { return result.timing.median / base->median; }
    double rateRatio() const { return result.operations / baseOperations / timeRatio(); }
};

// One call of a row, with its buffers. Short calls run in chains.
class VariantRuns {
public:
    VariantRuns(host::Device& device, GpuClock& clock, BenchMemory& memory, const Variant& variant,
                const VkfProblem& plain)
        : runs_(device, clock, memory, callOf(variant, plain)) {
        const bool chained = variant.workload == Workload::decode;
        memory.prepare(runs_.call().problem, runs_.info().scratchBytes, chained ? maxChainSets : maxBufferSets);
        runs_.begin();
        if (!chained)
            return;
        chain_.emplace(device, clock, memory.sets(),
                       [this](VkCommandBuffer commands, size_t set) { runs_.record(commands, set); });
        calls_ = chain_->callsOfSubmission();
    }
    VariantRuns(const VariantRuns&) = delete;
    VariantRuns& operator=(const VariantRuns&) = delete;

    ClockSample run() { return chain_ ? chain_->run(calls_) : runs_.run(); }
    CallRuns& runs() { return runs_; }
    size_t calls() const { return calls_; } // in one submission

private:
    static ExtraCall callOf(const Variant& variant, const VkfProblem& plain) {
        ExtraCall call{plain};
        variant.apply(call);
        return call;
    }

    CallRuns runs_;
    std::optional<CallChain> chain_;
    size_t calls_ = 1;
};

// The memory of the rows. The call and its base have separate buffers.
struct VariantMemory {
    BenchMemory call, base;
};

// Measures one row: the call and its base alternate, and the call is verified. Calls afterRun after each of many runs.
// Throws what planning and running throw. The caller judges the verdict.
VariantResult measureVariant(host::Device& device, GpuClock& clock, VariantMemory& memory, const Variant& variant,
                             const VkfProblem& plain, const MeasureOptions& options,
                             const std::function<void()>& afterRun) {
    VariantRuns call(device, clock, memory.call, variant, plain);
    std::optional<VariantRuns> base;
    std::vector<std::function<ClockSample()>> turns;
    if (variant.base != nullptr) {
        VkfProblem onPath = plain;
        onPath.path = call.runs().info().path; // AUTO may have another path for the base
        base.emplace(device, clock, memory.base, variantNamed(variant.base), onPath);
        turns.emplace_back([&] { return base->run(); });
    }
    turns.emplace_back([&] {
        const ClockSample sample = call.run();
        afterRun();
        return sample;
    });
    const std::vector<Timing> timings = measureInTurn(turns, options.timing, clock.highest());
    requireTime(timings.back().median, device);
    VariantResult result{call.runs().checked(timings.back(), options.sampleRows), call.calls()};
    if (base) {
        requireTime(timings.front().median, device);
        result.base = timings.front();
        result.baseOperations = base->runs().operations();
    }
    return result;
}

// ---- Output ----------------------------------------------------------------------------------------

std::optional<bool> aimMet(const Aim& aim, const VariantResult& row) {
    if (aim.of == AimOf::nothing || !row.base)
        return std::nullopt;
    return aim.of == AimOf::time ? row.timeRatio() <= aim.limit : row.rateRatio() >= aim.limit;
}

std::string aimText(const Aim& aim, const VariantResult& row) {
    const std::optional<bool> met = aimMet(aim, row);
    if (!met)
        return "";
    const char* const word = *met ? "met" : "MISSED";
    return aim.of == AimOf::time ? fmt::format("<= {:.4g} {}", aim.limit, word)
                                 : fmt::format("{:.3f} of the rate >= {:.4g} {}", row.rateRatio(), aim.limit, word);
}

void printVariantsHeading() {
    fmt::print("{:<18}{:<9}{:>7}{:>10}  {:<7}{:>10}{:>8}  {:<15} {:>8}{:>6}  {}\n", "variant", "path", "keys", "median",
               "base", "median", "ratio", "aim", "TFLOP/s", "runs", "error / bound");
}

void printSubject(const VariantSubject& subject, VkfPath path) {
    fmt::print("{:<18}{:<9}{:>7}", subject.variant.name, vkfPathName(path), subject.plain.keys);
}

void printRow(const VariantSubject& subject, const VariantResult& row) {
    const BenchResult& result = row.result;
    printSubject(subject, result.plan.path);
    fmt::print("{:>10}  {:<7}{:>10}{:>8}  {:<15} {:>8.4g}{:>6}  {:.1g} / {:.1g}{}{}\n", timeText(result.timing.median),
               row.base ? subject.variant.base : "", row.base ? timeText(row.base->median) : "",
               row.base ? fmt::format("{:.3f}", row.timeRatio()) : "", aimText(subject.variant.aim, row),
               result.teraflops(), result.timing.runs, result.verdict.oError, result.verdict.oBound,
               clockText(result.timing), result.verdict.passed ? "" : "  WRONG");
    std::fflush(stdout);
}

const char* workloadName(Workload workload) { return workload == Workload::prefill ? "prefill" : "decode"; }

Json rowJson(const VariantSubject& subject, const VariantResult& row) {
    const Aim& aim = subject.variant.aim;
    Json json = {{"variant", subject.variant.name}, {"workload", workloadName(subject.variant.workload)}};
    json.update(resultJson(row.result));
    json["callsInSubmission"] = row.calls;
    if (!row.base)
        return json;
    json.update({{"base", subject.variant.base},
                 {"baseSeconds", row.base->median},
                 {"baseSpread", row.base->spread},
                 {"timeRatio", row.timeRatio()},
                 {"rateRatio", row.rateRatio()}});
    if (const std::optional<bool> met = aimMet(aim, row))
        json.update({{"aim", aim.of == AimOf::time ? "time" : "rate"}, {"aimLimit", aim.limit}, {"met", *met}});
    return json;
}

// ---- Runs --------------------------------------------------------------------------------------------

class VariantsBench : public ShapeBench {
public:
    VariantsBench(const VariantOptions& options, const std::vector<VariantSubject>& subjects)
        : ShapeBench("variants", problemsOfSubjects(subjects, &VariantSubject::plain), options.measure.timing, {},
                     options.device, options.report),
          options_(options), subjects_(subjects), memory_{BenchMemory(device()), BenchMemory(device())} {}

private:
    void printHeading() const override {
        const ShapeOptions& shape = options_.shape;
        fmt::print("shape   {}, {} sequences, {} heads, {} rows, D = {}; decode: one row, 32 heads over 8\n\n",
                   shape.type, shape.batch, shape.heads, shape.rows, shape.dim);
        printVariantsHeading();
    }

    void printShape(const VkfProblem& problem) const override { printSubject(subjects_[index()], problem.path); }

    void measure(const VkfProblem& problem, const std::function<void()>& afterRun) override {
        const VariantSubject& subject = subjects_[index()];
        const VariantResult row =
            measureVariant(device(), clock(), memory_, subject.variant, problem, options_.measure, afterRun);
        hideProgress();
        printRow(subject, row);
        results().add(rowJson(subject, row), row.result.verdict, row.result.plan);
        if (const std::optional<bool> met = aimMet(subject.variant.aim, row)) {
            ++aims_;
            met_ += *met ? 1 : 0;
        }
    }

    Json skipped(const VkfProblem& /*problem*/) override { return {{"variant", subjects_[index()].variant.name}}; }

    void finish() override {
        fmt::print("\n{} of {} aims met\n", met_, aims_);
        head().update({{"aims", aims_}, {"aimsMet", met_}});
    }

    const VariantOptions& options_;
    const std::vector<VariantSubject>& subjects_;
    VariantMemory memory_;
    size_t aims_ = 0;
    size_t met_ = 0;
};

} // namespace

void addVariantsCommand(CLI::App& program, Action& action) {
    const auto [command, options] = addCommand<VariantOptions>(
        program, action, "variants",
        "Masks, windows and score terms, each timed in turn with its base call on the same path.",
        "vkflash_lab variants --only alibi,bias --json variants.json", [](const VariantOptions& chosen) {
            const std::vector<VariantSubject> subjects = subjectsOf(chosen);
            VariantsBench(chosen, subjects).run();
        });
    addShapeOptions(*command, options->shape);
    addList(*command, "--paths", options->paths, "list of paths of the prefill variants");
    addList(*command, "--decode-keys", options->decodeKeys,
            "list of numbers of keys for the decode variants (one row, 32 heads over 8 KV heads)");
    addList(*command, "--decode-paths", options->decodePaths, "list of paths of the decode variants");
    command->add_option("--only", options->only, "list of variants (default: all); their bases are measured too")
        ->delimiter(',');
    addTimedBenchOptions(*command, options->device, options->measure, options->report);
}

} // namespace vkf::tools
