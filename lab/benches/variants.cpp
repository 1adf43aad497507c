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
#include "benches/variant_measure.hpp"
#include "benches/variant_table.hpp"
#include "cli/error.hpp"
#include "cli/options.hpp"
#include "cli/text.hpp"

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
        : ShapeBench("variants", problemsOf(subjects), {}, options.device, options.report), options_(options),
          subjects_(subjects), measure_(device(), options.measure) {}

private:
    static std::vector<VkfProblem> problemsOf(const std::vector<VariantSubject>& subjects) {
        std::vector<VkfProblem> problems;
        problems.reserve(subjects.size());
        for (const VariantSubject& subject : subjects)
            problems.push_back(subject.plain);
        return problems;
    }

    void printHeading() const override {
        const ShapeOptions& shape = options_.shape;
        fmt::print("shape   {}, {} sequences, {} heads, {} rows, D = {}; decode: one row, 32 heads over 8\n\n",
                   shape.type, shape.batch, shape.heads, shape.rows, shape.dim);
        printVariantsHeading();
    }

    void printShape(const VkfProblem& problem) const override { printSubject(subjects_[index()], problem.path); }

    void measure(const VkfProblem& problem, const std::function<void()>& afterRun) override {
        const VariantSubject& subject = subjects_[index()];
        const VariantResult row = measure_.measure(subject.variant, problem, afterRun);
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
    VariantMeasure measure_;
    size_t aims_ = 0;
    size_t met_ = 0;
};

void addVariantOptions(CLI::App& command, VariantOptions& options) {
    addShapeOptions(command, options.shape);
    addList(command, "--paths", options.paths, "list of paths of the prefill variants");
    addList(command, "--decode-keys", options.decodeKeys,
            "list of numbers of keys for the decode variants (one row, 32 heads over 8 KV heads)");
    addList(command, "--decode-paths", options.decodePaths, "list of paths of the decode variants");
    command.add_option("--only", options.only, "list of variants (default: all); their bases are measured too")
        ->delimiter(',');
    addTimedBenchOptions(command, options.device, options.measure, options.report);
}

} // namespace

void addVariantsCommand(CLI::App& program, Action& action, const std::string& commandLine) {
    auto options = std::make_shared<VariantOptions>();
    options->report.commandLine = commandLine;
    CLI::App* command = program.add_subcommand(
        "variants", "Masks, windows and score terms, each timed in turn with its base call on the same path.");
    addVariantOptions(*command, *options);
    command->callback([options, &action] {
        action = [options] {
            checkReport(options->report);
            checkTiming(options->measure.timing.maxRuns, options->measure.timing.seconds);
            const std::vector<VariantSubject> subjects = subjectsOf(*options);
            VariantsBench(*options, subjects).run();
        };
    });
}

} // namespace vkf::tools
