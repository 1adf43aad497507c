// SPDX-License-Identifier: MIT
//
// vkflash_lab variants: measures masks, windows and score terms. Each variant runs in turn with its base call on the
// same path.
#include <memory>
#include <optional>
#include <vector>

#include "bench/bench_report.hpp"
#include "bench/bench_results.hpp"
#include "benches/benches.hpp"
#include "benches/variant_measure.hpp"
#include "benches/variant_table.hpp"
#include "cli/error.hpp"
#include "cli/options.hpp"
#include "cli/progress.hpp"
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

class VariantsBench {
public:
    explicit VariantsBench(const VariantOptions& options)
        : options_(options), subjects_(subjectsOf(options)), device_(openDevice(options.device)),
          measure_(device_, options.measure) {}

    void run() {
        const ShapeOptions& shape = options_.shape;
        fmt::print("device  {}, {}\n", device_.summary().name, device_.summary().driver);
        fmt::print("shape   {}, {} sequences, {} heads, {} rows, D = {}; decode: one row, 32 heads over 8\n\n",
                   shape.type, shape.batch, shape.heads, shape.rows, shape.dim);
        printVariantsHeading();
        results_.keepFailure([&] {
            for (const VariantSubject& subject : subjects_) {
                measureOne(subject);
                ++done_;
            }
        });
        progress_.hide();
        fmt::print("\n{} of {} aims met\n", met_, aims_);
        results_.write(options_.report, "variants", device_, options_.device, {{"aims", aims_}, {"aimsMet", met_}});
    }

private:
    void measureOne(const VariantSubject& subject) {
        const double share = static_cast<double>(done_) / static_cast<double>(subjects_.size());
        std::optional<VariantResult> row;
        try {
            row = measure_.measure(subject.variant, subject.plain, [&] { progress_.update(share); });
        } catch (const host::Error& error) {
            if (!isOfOneShape(error.result()))
                throw;
            skip(subject, error.what());
            return;
        }
        progress_.hide();
        printRow(subject, *row);
        results_.add(rowJson(subject, *row), row->result.verdict, row->result.plan);
        if (const std::optional<bool> met = aimMet(subject.variant.aim, *row)) {
            ++aims_;
            met_ += *met ? 1 : 0;
        }
    }

    void skip(const VariantSubject& subject, const std::string& reason) {
        progress_.hide();
        printSubject(subject, subject.plain.path);
        fmt::print("  left out: {}\n", reason);
        std::fflush(stdout);
        results_.leaveOut(subject.plain, reason, {{"variant", subject.variant.name}});
    }

    const VariantOptions& options_;
    std::vector<VariantSubject> subjects_;
    host::Device device_;
    VariantMeasure measure_;
    Progress progress_{"variants"};
    size_t done_ = 0;
    size_t aims_ = 0;
    size_t met_ = 0;
    BenchResults results_;
};

void addVariantOptions(CLI::App& command, VariantOptions& options) {
    addShapeOptions(command, options.shape);
    command.add_option("--paths", options.paths, "list of paths of the prefill variants")
        ->delimiter(',')
        ->capture_default_str();
    command
        .add_option("--decode-keys", options.decodeKeys,
                    "list of numbers of keys for the decode variants (one row, 32 heads over 8 KV heads)")
        ->delimiter(',')
        ->capture_default_str();
    command.add_option("--decode-paths", options.decodePaths, "list of paths of the decode variants")
        ->delimiter(',')
        ->capture_default_str();
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
            VariantsBench(*options).run();
        };
    });
}

} // namespace vkf::tools
