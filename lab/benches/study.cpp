// SPDX-License-Identifier: MIT
//
// vkflash_lab study: runs every algorithm on the same inputs over the length of the sequence. Reports time, memory,
// traffic and the largest difference between outputs.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "bench/bench_report.hpp"
#include "bench/shape_bench.hpp"
#include "benches/benches.hpp"
#include "cli/error.hpp"
#include "cli/options.hpp"
#include "cli/text.hpp"
#include "cli/verdict.hpp"
#include "measure/backward_measure.hpp"
#include "measure/memory_use.hpp"
#include "measure/problem_measure.hpp"
#include "model/plan_traffic.hpp"
#include "model/traffic.hpp"

namespace vkf::tools {

namespace {

constexpr uint64_t max64 = std::numeric_limits<int64_t>::max();

struct StudyOptions {
    uint32_t batch = 2;
    uint32_t heads = 1;
    std::vector<uint32_t> rows = {256, 512, 1024, 2048, 4096, 8192, 16384};
    std::vector<uint32_t> dims = {64, 128};
    std::vector<std::string> types = {"f32", "f16"};
    std::vector<std::string> paths; // empty = all paths of the study
    uint64_t maxMemory = 0;         // limit of bytes for one algorithm; 0 = the device's memory
    DeviceFlags device;
    MeasureOptions measure = {.timing = {.warmUps = 1, .warmSeconds = 0.03, .maxRuns = 1000, .seconds = 0.3},
                              .sampleRows = 16};
    ReportOptions report;
};

struct StudyAlgorithm {
    VkfPath path;
    TrafficOrder traffic;
};

// The algorithms of the study. The baseline is the first.
constexpr std::array<StudyAlgorithm, 4> studyAlgorithms = {{
    {VKF_PATH_STANDARD, standardTraffic},
    {VKF_PATH_KEY_OUTER, keyOuterTraffic},
    {VKF_PATH_SCALAR, queryOuterTraffic},
    {VKF_PATH_COOPMAT, queryOuterTraffic},
}};

bool isInStudy(VkfPath path) {
    return std::any_of(studyAlgorithms.begin(), studyAlgorithms.end(), [&](const auto& a) { return a.path == path; });
}

// "standard, key_outer, scalar, coopmat"
std::string studyNames() {
    std::string names;
    for (const StudyAlgorithm& algorithm : studyAlgorithms)
        names += fmt::format("{}{}", names.empty() ? "" : ", ", vkfPathName(algorithm.path));
    return names;
}

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
    for (const StudyAlgorithm& algorithm : studyAlgorithms)
        if (wanted.empty() || wanted.contains(algorithm.path))
            chosen.push_back(algorithm);
    return chosen;
}

// Every shape for every algorithm. The lengths rise within a type and D.
std::vector<VkfProblem> problemsOf(const StudyOptions& options) {
    const std::vector<StudyAlgorithm> algorithms = algorithmsOf(options);
    std::set<uint32_t> lengths(options.rows.begin(), options.rows.end());
    if (lengths.contains(0))
        failInput("--rows 0: takes numbers of at least 1");
    if (options.batch == 0 || options.heads == 0)
        failInput("--batch, --heads: a problem without rows takes no time");
    std::vector<VkfProblem> problems;
    for (const std::string& type : options.types) {
        parseType("--types", type);
        for (const uint32_t dim : options.dims)
            for (const uint32_t rows : lengths)
                for (const StudyAlgorithm& algorithm : algorithms) {
                    problems.push_back(makeProblem(
                        {.batch = options.batch, .heads = options.heads, .rows = rows, .dim = dim, .type = type},
                        MathOptions{}));
                    problems.back().path = algorithm.path;
                }
    }
    if (problems.empty())
        failInput("--rows, --dims, --types: one of them is empty");
    if (options.maxMemory > max64) // a negative number is parsed as a number this large
        failInput("--most-memory: takes at most 2^63 - 1 bytes, as 2GiB or 500MB");
    return problems;
}

// ---- Measurement of one algorithm on one shape ---------------------------------------------------------

// Memory of one set of tensors with its scratch. The driver counts the whole process. A count is empty where the driver
// does not report it.
struct StudyMemory {
    uint64_t peak = 0; // peak of the allocator
    std::optional<uint64_t> driverBefore, driverMost, driverAfter;
};

struct StudyResult {
    BenchResult timed;
    StudyMemory memory;
    double predictedBytes = 0; // from the papers' formula
    double planBytes = 0;      // from what the plan's kernels do
    std::vector<float> o;

    double bytesPerSecond() const { return predictedBytes / timed.timing.median; }
    double fasterThan(const StudyResult& other) const { return other.timed.timing.median / timed.timing.median; }
    double memorySaved(const StudyResult& other) const { // per cent
        return 100 * (1 - static_cast<double>(memory.peak) / static_cast<double>(other.memory.peak));
    }
};

// The backward pass of an algorithm, and the bytes that the papers count for the two ways to get P. Stored: the forward
// pass kept P. Recomputed: kernels of this library, with the tile of algorithm 1.
struct StudyBackward {
    BackwardResult timed;
    double storedBytes = 0;
    double recomputedBytes = 0;

    double recomputedBytesPerSecond() const { return recomputedBytes / timed.timing.median; }
    double storedBytesPerSecond() const { return storedBytes / timed.timing.median; }
};

// The difference between the outputs of two algorithms. Each output may be off by its own bound.
struct OutputDifference {
    double largest = -1; // infinite if an output has a NaN
    double bound = 0;
    VkfPath one = VKF_PATH_AUTO, other = VKF_PATH_AUTO;

    bool known() const { return largest >= 0; }
    bool agrees() const { return largest <= bound; }
    bool operator<(const OutputDifference& that) const { return largest < that.largest; }
};

void requireMemory(const VkfPlanInfo& plan, uint64_t maxMemory) {
    const double needed = plan.minimumBytes + static_cast<double>(plan.scratchBytes);
    if (maxMemory != 0 && needed > static_cast<double>(maxMemory))
        throw host::Error(VKF_ERROR_OUT_OF_DEVICE_MEMORY,
                          fmt::format("{} of tensors and {} of scratch are more than the {} of --most-memory",
                                      bytesText(plan.minimumBytes), bytesText(static_cast<double>(plan.scratchBytes)),
                                      bytesText(static_cast<double>(maxMemory))));
}

// Uses one set of tensors, as an application does. Times are taken over many sets, and their memory would hide what an
// algorithm needs.
StudyMemory measureMemory(host::Device& device, GpuClock& clock, const host::Plan& plan) {
    StudyMemory use;
    use.driverBefore = deviceMemoryInUse(device);
    const uint64_t before = device.bytesInUse();
    device.resetPeakBytes();
    {
        BenchMemory memory(device);
        memory.prepare(plan.problem(), plan.info().scratchBytes, 1);
        PlanRuns(clock, plan.handle(), plan.info().stepCount).run(memory.bindings(0));
        use.driverMost = deviceMemoryInUse(device);
    }
    use.peak = device.peakBytes() - before;
    use.driverAfter = deviceMemoryInUse(device);
    return use;
}

std::vector<float> outputOf(const VkfProblem& problem, const host::HostTensors& tensors) {
    const VkfTensorLayout layout = vkf::layoutOf(problem, VKF_TENSOR_O);
    std::vector<float> o(layout.elements);
    for (uint64_t i = 0; i < layout.elements; ++i)
        o[i] = static_cast<float>(vkfLoadElement(layout.type, tensors.o, i));
    return o;
}

double largestDifference(const std::vector<float>& a, const std::vector<float>& b) {
    double largest = 0;
    for (size_t i = 0; i < a.size(); ++i) {
        const double difference = std::fabs(static_cast<double>(a[i]) - b[i]);
        if (std::isnan(difference))
            return std::numeric_limits<double>::infinity();
        largest = std::max(largest, difference);
    }
    return largest;
}

// Throws what measureProblem throws, and host::Error(VKF_ERROR_OUT_OF_DEVICE_MEMORY) if tensors and scratch need more
// than maxMemory. 0 = no limit.
StudyResult measureAlgorithm(host::Device& device, GpuClock& clock, const VkfProblem& problem,
                             const StudyAlgorithm& algorithm, uint64_t maxMemory, const MeasureOptions& options,
                             const std::function<void()>& afterRun) {
    StudyResult result;
    {
        const host::Plan plan(device, problem);
        requireMemory(plan.info(), maxMemory);
        result.memory = measureMemory(device, clock, plan);
        result.predictedBytes = algorithm.traffic(problem, plan.info()).total();
        result.planBytes = planTraffic(problem, plan.info()).total();
    }
    BenchMemory memory(device);
    result.timed = measureProblem(device, clock, memory, problem, options, afterRun);
    // Every set has the same inputs. The first run wrote this set.
    result.o = outputOf(problem, memory.download(0));
    return result;
}

// Whether the algorithm has a backward pass.
bool hasBackward(VkfPath path) { return path == VKF_PATH_SCALAR || path == VKF_PATH_COOPMAT; }

// Throws what measureBackward throws.
StudyBackward measureBackward(host::Device& device, GpuClock& clock, const VkfProblem& problem,
                              const MeasureOptions& options, const std::function<void()>& afterRun) {
    StudyBackward result;
    BackwardMemory memory(device);
    result.timed = measureBackward(device, clock, memory, problem, options, afterRun);
    const TrafficShape shape = trafficShape(problem);
    const auto elementBytes = static_cast<uint32_t>(vkfTypeBytes(problem.q.type));
    const TileSize tile = algorithm1Tile(device.summary().sharedMemoryBytes, shape.dims, elementBytes);
    result.storedBytes = storedBackwardTraffic(shape).total();
    result.recomputedBytes = ownedBackwardTraffic(shape, tile).total();
    return result;
}

// The result of path standard, or null if there is none.
const StudyResult* standardOf(std::span<const StudyResult> results) {
    const auto found = std::find_if(results.begin(), results.end(),
                                    [](const auto& r) { return r.timed.plan.path == VKF_PATH_STANDARD; });
    return found == results.end() ? nullptr : &*found;
}

// The largest difference between one result and any other result of the same shape. known() is false if there is no
// other.
OutputDifference differenceToOthers(std::span<const StudyResult> results, size_t one) {
    OutputDifference largest;
    const StudyResult& a = results[one];
    for (size_t i = 0; i < results.size(); ++i) {
        if (i == one)
            continue;
        const StudyResult& b = results[i];
        largest = std::max(largest, OutputDifference{largestDifference(a.o, b.o),
                                                     a.timed.verdict.oBound + b.timed.verdict.oBound, a.timed.plan.path,
                                                     b.timed.plan.path});
    }
    return largest;
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

Json json(const StudyResult& result, const StudyResult* standard, const OutputDifference& difference) {
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

// The problems of one shape, one for each algorithm, follow each other.
class StudyBench : public ShapeBench {
public:
    explicit StudyBench(const StudyOptions& options)
        : ShapeBench("study", problemsOf(options), options.measure.timing, {}, options.device, options.report),
          options_(options), algorithms_(algorithmsOf(options)) {}

private:
    using Series = std::tuple<VkfPath, VkfType, uint32_t>; // path, type and D; an algorithm stops for one of these

    void printHeading() const override {
        fmt::print("shape   {} sequences, {} heads, not causal\n\n", options_.batch, options_.heads);
        printStudyHeading();
    }

    void printShape(const VkfProblem& problem) const override { printStudyShape(problem, problem.path); }

    void measure(const VkfProblem& problem, const std::function<void()>& afterRun) override {
        if (index() % algorithms_.size() == 0)
            finishShape();
        if (stopped_.contains(seriesOf(problem)))
            return;
        const StudyAlgorithm& algorithm = algorithms_[index() % algorithms_.size()];
        measured_.push_back(
            measureAlgorithm(device(), clock(), problem, algorithm, options_.maxMemory, options_.measure, afterRun));
        hideProgress();
        printRow(measured_.back(), standardOf(measured_));
        if (hasBackward(algorithm.path))
            measureGradients(problem, afterRun);
    }

    // The backward pass of an algorithm that was measured.
    void measureGradients(const VkfProblem& problem, const std::function<void()>& afterRun) {
        try {
            const StudyBackward result = measureBackward(device(), clock(), problem, options_.measure, afterRun);
            hideProgress();
            printBackwardRow(result);
            results().keepFailure([&] { requirePassed(result.timed.verdict, result.timed.info.description); });
            backward_[problem.path] = backwardJson(result);
        } catch (const host::Error& error) {
            if (!isOfOneShape(error.result()))
                throw;
            hideProgress();
            fmt::print("{:<17}  backward  left out: {}\n", "", error.what());
        }
    }

    // An algorithm that stops at one length is not tried at longer ones.
    Json skipped(const VkfProblem& problem) override {
        stopped_.insert(seriesOf(problem));
        return Json::object();
    }

    // Compares the results of one shape, each with each other, and adds them to the report.
    void finishShape() {
        const StudyResult* standard = standardOf(measured_);
        OutputDifference largest;
        for (size_t i = 0; i < measured_.size(); ++i) {
            const StudyResult& result = measured_[i];
            const OutputDifference difference = differenceToOthers(measured_, i);
            largest = std::max(largest, difference);
            Json entry = json(result, standard, difference);
            if (const auto found = backward_.find(result.timed.plan.path); found != backward_.end())
                entry.update(found->second);
            results().add(std::move(entry), result.timed.verdict, result.timed.plan);
        }
        measured_.clear();
        backward_.clear();
        if (!largest.known())
            return;
        fmt::print("{:<5}{:>5}{:>7}  outputs differ by {:.2g} at most ({} and {}), bound {:.2g}\n", "", "", "",
                   largest.largest, vkfPathName(largest.one), vkfPathName(largest.other), largest.bound);
        std::fflush(stdout);
        if (!largest.agrees())
            results().keepFailure([&] {
                fail("the outputs of {} and {} differ by {:.3g}, the bound is {:.3g}", vkfPathName(largest.one),
                     vkfPathName(largest.other), largest.largest, largest.bound);
            });
    }

    void finish() override { finishShape(); }

    static Series seriesOf(const VkfProblem& problem) { return {problem.path, problem.q.type, problem.headDim}; }

    const StudyOptions& options_;
    std::vector<StudyAlgorithm> algorithms_;
    std::set<Series> stopped_;
    std::vector<StudyResult> measured_; // of the shape that is measured
    std::map<VkfPath, Json> backward_;
};

} // namespace

void addStudyCommand(CLI::App& program, Action& action) {
    const auto [command, options] = addCommand<StudyOptions>(
        program, action, "study",
        "Each algorithm over the length of the sequence: time, memory, traffic and agreement.",
        "vkflash_lab study --dims 64 --json study.json", [](const StudyOptions& chosen) { StudyBench(chosen).run(); });
    addValue(*command, "--batch", options->batch, "number of sequences");
    addValue(*command, "--heads", options->heads, "number of heads of each sequence");
    addList(*command, "--rows", options->rows, "list of numbers of rows; there are as many keys");
    addList(*command, "--dims", options->dims, "list of head dimensions");
    addList(*command, "--types", options->types, "list of f32, f16, bf16");
    command->add_option("--paths", options->paths, fmt::format("list of {} (default: all)", studyNames()))
        ->delimiter(',');
    command
        ->add_option("--most-memory", options->maxMemory,
                     "limit for tensors and scratch together, such as 2GiB or 500MB (default: the device's memory)")
        ->transform(CLI::AsSizeValue(true));
    addTimedBenchOptions(*command, options->device, options->measure, options->report);
}

} // namespace vkf::tools
