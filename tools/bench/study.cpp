// SPDX-License-Identifier: MIT
//
// vkflash bench study: runs every algorithm on the same inputs over the length of the sequence. Reports time, memory,
// traffic and the largest difference between outputs.
#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "bench/bench_report.hpp"
#include "bench/bench_results.hpp"
#include "bench/benches.hpp"
#include "bench/study_measure.hpp"
#include "cli/error.hpp"
#include "cli/options.hpp"
#include "cli/progress.hpp"
#include "cli/text.hpp"
#include "cli/verdict.hpp"
#include "measure/problem_measure.hpp"

namespace vkf::tools {

namespace {

constexpr uint64_t most64 = std::numeric_limits<int64_t>::max();

struct StudyOptions {
    uint32_t batch = 2;
    uint32_t heads = 1;
    std::vector<uint32_t> rows = {256, 512, 1024, 2048, 4096, 8192, 16384};
    std::vector<uint32_t> dims = {64, 128};
    std::vector<std::string> types = {"f32", "f16"};
    std::vector<std::string> paths; // empty = all paths of the study
    uint64_t mostMemory = 0;        // limit of bytes for one algorithm; 0 = the device's memory
    DeviceFlags device;
    MeasureOptions measure = {.timing = {.warmUps = 1, .warmSeconds = 0.03, .maxRuns = 1000, .seconds = 0.3},
                              .sampleRows = 16};
    ReportOptions report;
};

// The requested algorithms in the order of the study. The baseline is the first.
std::vector<StudyAlgorithm> algorithmsOf(const StudyOptions& options) {
    std::set<VkfPath> wanted;
    for (const std::string& name : options.paths) {
        const VkfPath path = parsePath("--paths", name);
        if (!isInStudy(path))
            failInput("--paths {}: is not in the study, which has {}", name, studyNames());
        wanted.insert(path);
    }
    std::vector<StudyAlgorithm> chosen;
    for (const StudyAlgorithm& algorithm : studyAlgorithms())
        if (wanted.empty() || wanted.contains(algorithm.path))
            chosen.push_back(algorithm);
    return chosen;
}

// The lengths rise within a type and D: a path that stops at one length is not tried at longer ones.
std::vector<VkfProblem> shapesOf(const StudyOptions& options) {
    std::set<uint32_t> lengths(options.rows.begin(), options.rows.end());
    if (lengths.contains(0))
        failInput("--rows 0: takes numbers of at least 1");
    if (options.batch == 0 || options.heads == 0)
        failInput("--batch, --heads: a problem without rows takes no time");
    std::vector<VkfProblem> shapes;
    for (const std::string& type : options.types) {
        parseType("--types", type);
        for (const uint32_t dim : options.dims)
            for (const uint32_t rows : lengths)
                shapes.push_back(makeProblem(
                    {.batch = options.batch, .heads = options.heads, .rows = rows, .dim = dim, .type = type},
                    MathOptions{}));
    }
    if (shapes.empty())
        failInput("--rows, --dims, --types: one of them is empty");
    if (options.mostMemory > most64) // a negative number is parsed as a number this large
        failInput("--most-memory: takes at most 2^63 - 1 bytes, as 2GiB or 500MB");
    return shapes;
}

// ---- Output ----------------------------------------------------------------------------------------

void printStudyHeading() {
    fmt::print("{:<5}{:>5}{:>7}  {:<10}{:>10}{:>8}{:>10}{:>11}{:>8}{:>11}{:>11}{:>10}  {:<15}\n", "type", "D", "N",
               "path", "median", "faster", "TFLOP/s", "memory", "saved", "predicted", "plan", "GB/s", "error / bound");
}

void printStudyShape(const VkfProblem& problem, VkfPath path) {
    fmt::print("{:<5}{:>5}{:>7}  {:<10}", vkfTypeName(problem.q.type), problem.headDim, problem.queryRows,
               vkfPathName(path));
}

void printRow(const StudyResult& result, const StudyResult* standard) {
    printStudyShape(result.timed.problem, result.timed.plan.path);
    fmt::print("{:>10}{:>8}{:>10.4g}{:>11}{:>8}{:>11}{:>11}{:>10.4g}  {:<15}{}{}\n",
               timeText(result.timed.timing.median),
               standard ? fmt::format("{:.2f}x", result.fasterThan(*standard)) : "-", result.timed.teraflops(),
               bytesText(static_cast<double>(result.memory.peak)),
               standard ? fmt::format("{:.1f}%", result.memorySaved(*standard)) : "-", bytesText(result.predictedBytes),
               bytesText(result.planBytes), result.bytesPerSecond() * 1e-9,
               fmt::format("{:.1g} / {:.1g}", result.timed.verdict.oError, result.timed.verdict.oBound),
               clockText(result.timed.timing), result.timed.verdict.passed ? "" : "  WRONG");
    std::fflush(stdout);
}

// The line below that of the forward pass, in its columns.
void printBackwardRow(const StudyBackward& result) {
    const VkfGradientError& worst = worstOf(result.timed.verdict);
    fmt::print("{:<17}  {:<10}{:>10}{:>8}{:>10.4g}{:>11}{:>8}{:>11}{:>11}{:>10.4g}  {:<15}{}{}\n", "", "backward",
               timeText(result.timed.timing.median), "", result.timed.teraflops(),
               bytesText(static_cast<double>(result.timed.tensorBytes + result.timed.info.scratchBytes)), "",
               bytesText(result.recomputedBytes), "", result.recomputedBytesPerSecond() * 1e-9,
               fmt::format("{:.1g} / {:.1g}", worst.error, worst.bound), clockText(result.timed.timing),
               result.timed.verdict.passed ? "" : "  WRONG");
    fmt::print("{:<17}  with P stored it would move {}: {:.4g} GB/s in this time\n", "", bytesText(result.storedBytes),
               result.storedBytesPerSecond() * 1e-9);
    std::fflush(stdout);
}

Json backwardJson(const StudyBackward& result) {
    const VkfGradientError& worst = worstOf(result.timed.verdict);
    return {{"backwardSeconds", result.timed.timing.median},
            {"backwardSpread", result.timed.timing.spread},
            {"backwardRuns", result.timed.timing.runs},
            {"backwardTeraflops", result.timed.teraflops()},
            {"backwardTensorBytes", result.timed.tensorBytes},
            {"backwardScratchBytes", result.timed.info.scratchBytes},
            {"backwardRecomputedBytes", result.recomputedBytes},
            {"backwardStoredBytes", result.storedBytes},
            {"backwardStoredBytesPerSecond", result.storedBytesPerSecond()},
            {"backwardError", worst.error},
            {"backwardBound", worst.bound}};
}

Json json(const StudyResult& result, const StudyResult* standard, const Difference& difference) {
    Json json = resultJson(result.timed);
    json.update({{"peakBytes", result.memory.peak},
                 {"driverBytesBefore", bytesJson(result.memory.driverBefore)},
                 {"driverBytesMost", bytesJson(result.memory.driverMost)},
                 {"driverBytesAfter", bytesJson(result.memory.driverAfter)},
                 {"fasterThanStandard", standard ? Json(result.fasterThan(*standard)) : Json(nullptr)},
                 {"memorySavedPercent", standard ? Json(result.memorySaved(*standard)) : Json(nullptr)},
                 {"predictedBytes", result.predictedBytes},
                 {"planBytes", result.planBytes},
                 {"bytesPerSecond", result.bytesPerSecond()},
                 {"largestDifference", difference.known() ? Json(difference.largest) : Json(nullptr)},
                 {"differenceBound", difference.known() ? Json(difference.bound) : Json(nullptr)}});
    return json;
}

// ---- Runs --------------------------------------------------------------------------------------------

class StudyBench {
public:
    explicit StudyBench(const StudyOptions& options)
        : options_(options), algorithms_(algorithmsOf(options)), shapes_(shapesOf(options)),
          device_(openDevice(options.device)), clock_(device_) {}

    void run() {
        fmt::print("device  {}, {}\nshape   {} sequences, {} heads, not causal\n\n", device_.summary().name,
                   device_.summary().driver, options_.batch, options_.heads);
        printStudyHeading();
        for (const VkfProblem& shape : shapes_)
            if (!measureShape(shape))
                break;
        finish();
    }

private:
    using Series = std::tuple<VkfPath, VkfType, uint32_t>; // path, type and D; an algorithm stops for one of these

    // Returns false if the bench cannot go on, after a lost device for instance.
    bool measureShape(const VkfProblem& shape) {
        std::vector<StudyResult> results;
        backward_.clear();
        const bool all = results_.keepFailure([&] {
            for (const StudyAlgorithm& algorithm : algorithms_) {
                VkfProblem problem = shape;
                problem.path = algorithm.path;
                if (!stopped_.contains(seriesOf(problem)))
                    measureOne(problem, algorithm, results);
                ++done_;
            }
        });
        const StudyResult* standard = standardOf(results);
        for (size_t i = 0; i < results.size(); ++i)
            addResult(results[i], json(results[i], standard, differenceToOthers(results, i)));
        compare(results);
        return all;
    }

    void measureOne(const VkfProblem& problem, const StudyAlgorithm& algorithm, std::vector<StudyResult>& results) {
        const auto progress = [&] {
            progress_.update(static_cast<double>(done_) / static_cast<double>(shapes_.size() * algorithms_.size()));
        };
        try {
            results.push_back(
                measureAlgorithm(device_, clock_, problem, algorithm, options_.mostMemory, options_.measure, progress));
        } catch (const host::Error& error) {
            if (!isOfOneShape(error.result()))
                throw;
            stop(problem, error.what());
            return;
        }
        progress_.hide();
        printRow(results.back(), standardOf(results));
        if (hasBackward(algorithm.path))
            measureGradients(problem, progress);
    }

    // The backward pass of an algorithm that was measured.
    void measureGradients(const VkfProblem& problem, const std::function<void()>& progress) {
        try {
            const StudyBackward result = measureBackward(device_, clock_, problem, options_.measure, progress);
            progress_.hide();
            printBackwardRow(result);
            results_.keepFailure([&] { requirePassed(result.timed.verdict, result.timed.info.description); });
            backward_[problem.path] = backwardJson(result);
        } catch (const host::Error& error) {
            if (!isOfOneShape(error.result()))
                throw;
            progress_.hide();
            fmt::print("{:<17}  backward  left out: {}\n", "", error.what());
        }
    }

    void addResult(const StudyResult& result, Json entry) {
        if (const auto found = backward_.find(result.timed.plan.path); found != backward_.end())
            entry.update(found->second);
        results_.add(std::move(entry), result.timed.verdict, result.timed.plan);
    }

    // Compares the outputs of one shape, each with each other.
    void compare(const std::vector<StudyResult>& results) {
        Difference largest;
        for (size_t i = 0; i < results.size(); ++i)
            largest = std::max(largest, differenceToOthers(results, i));
        if (!largest.known())
            return;
        fmt::print("{:<5}{:>5}{:>7}  outputs differ by {:.2g} at most ({} and {}), bound {:.2g}\n", "", "", "",
                   largest.largest, vkfPathName(largest.one), vkfPathName(largest.other), largest.bound);
        std::fflush(stdout);
        if (!largest.agrees() && !apart_)
            apart_ = largest;
    }

    void stop(const VkfProblem& problem, const std::string& reason) {
        stopped_.insert(seriesOf(problem));
        progress_.hide();
        printStudyShape(problem, problem.path);
        fmt::print("stops here: {}\n", reason);
        std::fflush(stdout);
        results_.leaveOut(problem, reason);
    }

    void finish() {
        progress_.hide();
        results_.keepFailure([&] {
            if (apart_)
                fail("the outputs of {} and {} differ by {:.3g}, the bound is {:.3g}", vkfPathName(apart_->one),
                     vkfPathName(apart_->other), apart_->largest, apart_->bound);
        });
        results_.write(options_.report, "study", device_, options_.device, Json::object());
    }

    static Series seriesOf(const VkfProblem& problem) { return {problem.path, problem.q.type, problem.headDim}; }

    const StudyOptions& options_;
    std::vector<StudyAlgorithm> algorithms_;
    std::vector<VkfProblem> shapes_;
    host::Device device_;
    GpuClock clock_;
    Progress progress_{"bench study"};
    size_t done_ = 0;
    std::set<Series> stopped_;
    BenchResults results_;
    std::map<VkfPath, Json> backward_; // of the shape that is measured
    std::optional<Difference> apart_;  // the first pair of outputs that differ too much
};

} // namespace

void addBenchStudyCommand(CLI::App& bench, Action& action, const std::string& commandLine) {
    auto options = std::make_shared<StudyOptions>();
    options->report.commandLine = commandLine;
    CLI::App* command = bench.add_subcommand(
        "study", "Each algorithm over the length of the sequence: time, memory, traffic and agreement.");
    command->footer("vkflash bench study --dims 64 --json study.json");
    command->add_option("--batch", options->batch, "number of sequences")->capture_default_str();
    command->add_option("--heads", options->heads, "number of heads of each sequence")->capture_default_str();
    command->add_option("--rows", options->rows, "list of numbers of rows; there are as many keys")
        ->delimiter(',')
        ->capture_default_str();
    command->add_option("--dims", options->dims, "list of head dimensions")->delimiter(',')->capture_default_str();
    command->add_option("--types", options->types, "list of f32, f16, bf16")->delimiter(',')->capture_default_str();
    command->add_option("--paths", options->paths, fmt::format("list of {} (default: all)", studyNames()))
        ->delimiter(',');
    command
        ->add_option("--most-memory", options->mostMemory,
                     "limit for tensors and scratch together, such as 2GiB or 500MB (default: the device's memory)")
        ->transform(CLI::AsSizeValue(true));
    addTimedBenchOptions(*command, options->device, options->measure, options->report);
    command->callback([options, &action] {
        action = [options] {
            checkReport(options->report);
            checkTiming(options->measure.timing.maxRuns, options->measure.timing.seconds);
            StudyBench(*options).run();
        };
    });
}

} // namespace vkf::tools
