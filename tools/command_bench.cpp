// SPDX-License-Identifier: MIT
//
// vkflash bench: how fast each path is on a grid of shapes. A time counts only if the same run's result is
// right.
#include <algorithm>
#include <ctime>
#include <memory>
#include <vector>

#include <nlohmann/json.hpp>

#include "atomic_file.hpp"
#include "commands.hpp"
#include "device_text.hpp"
#include "error.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "random_tensors.hpp"
#include "text.hpp"
#include "timing.hpp"
#include "verdict.hpp"

namespace vkf::tools {

namespace {

using Json = nlohmann::ordered_json;

struct BenchOptions {
    ShapeOptions shape; // what the lists below leave
    MathOptions math;
    DeviceFlags device;
    std::vector<uint32_t> rows = {512, 1024, 2048};
    std::vector<uint32_t> dims = {64, 128};
    std::vector<std::string> types = {"f16", "f32"};
    std::vector<std::string> paths = {"scalar", "standard"};
    TimingOptions timing = {.warmUps = 3, .maxRuns = 50, .seconds = 1};
    uint32_t sampleRows = 16;
    std::string json;
    std::string commit = "unknown";
    std::string commandLine;
};

// A time that lives off what the last run left in the cache is nobody's: each run takes the next of
// several sets of buffers, together larger than the caches of today's devices.
constexpr double rotatedBytes = 256.0 * 1024 * 1024;
constexpr size_t maxSets = 16;

struct Result {
    VkfProblem problem;
    VkfPlanInfo plan{};
    Timing timing;
    size_t sets = 0;
    VkfVerdict verdict{};
};

std::vector<VkfProblem> grid(const BenchOptions& options) {
    std::vector<VkfProblem> problems;
    ShapeOptions shape = options.shape;
    MathOptions math = options.math;
    for (const std::string& type : options.types)
        for (const uint32_t dim : options.dims)
            for (const uint32_t rows : options.rows)
                for (const std::string& path : options.paths) {
                    shape.type = type;
                    shape.dim = dim;
                    shape.rows = rows;
                    math.path = path;
                    problems.push_back(makeProblem(shape, math));
                }
    return problems;
}

Result bench(host::Device& device, const VkfProblem& problem, const BenchOptions& options,
             const std::function<void()>& afterRun) {
    RandomTensors random(problem, 1);
    const host::HostTensors tensors = random.pointers(problem);
    std::vector<host::Attention> sets;
    const auto addSet = [&] {
        sets.emplace_back(device, problem);
        sets.back().upload(tensors);
    };
    addSet();
    Result result{problem, sets[0].plan().info(), {}, 0, {}};
    const double setBytes = result.plan.minimumBytes + static_cast<double>(result.plan.scratchBytes);
    while (sets.size() < maxSets && static_cast<double>(sets.size()) * setBytes < rotatedBytes)
        addSet();

    size_t next = 0;
    const auto run = [&] {
        const double seconds = sets[next++ % sets.size()].run();
        afterRun();
        return seconds;
    };
    result.timing = measure(run, options.timing);
    result.sets = sets.size();
    // The last run's set: what was timed is what is checked.
    sets[(next - 1) % sets.size()].download(tensors);
    result.verdict = verifyResult(problem, tensors, result.plan, options.sampleRows);
    requirePassed(result.verdict, result.plan.description);
    return result;
}

double teraflops(const Result& result) { return result.plan.operations / result.timing.median * 1e-12; }

void printHeading() {
    fmt::print("{:<6}{:>5}{:>8}{:>8}  {:<10}{:>11}{:>11}{:>11}{:>6}{:>12}  {}\n", "type", "D", "rows", "keys", "path",
               "median", "least", "most", "runs", "TFLOP/s", "error / bound");
}

void printRow(const Result& result) {
    fmt::print("{:<6}{:>5}{:>8}{:>8}  {:<10}{:>11}{:>11}{:>11}{:>6}{:>12.3g}  {:.1g} / {:.1g}\n",
               vkfTypeName(result.problem.q.type), result.problem.headDim, result.problem.queryRows,
               result.problem.keys, vkfPathName(result.plan.path), timeText(result.timing.median),
               timeText(result.timing.least), timeText(result.timing.most), result.timing.runs, teraflops(result),
               result.verdict.oError, result.verdict.oBound);
    std::fflush(stdout);
}

Json json(const Result& result) {
    const VkfProblem& problem = result.problem;
    return {{"batch", problem.batch},
            {"queryHeads", problem.queryHeads},
            {"kvHeads", problem.kvHeads},
            {"queryRows", problem.queryRows},
            {"keys", problem.keys},
            {"headDim", problem.headDim},
            {"valueDim", problem.valueDim != 0 ? problem.valueDim : problem.headDim},
            {"type", vkfTypeName(problem.q.type)},
            {"causal", problem.causal != 0},
            {"precision", precisionName(problem.precision)},
            {"path", vkfPathName(result.plan.path)},
            {"plan", result.plan.description},
            {"medianSeconds", result.timing.median},
            {"leastSeconds", result.timing.least},
            {"mostSeconds", result.timing.most},
            {"runs", result.timing.runs},
            {"bufferSets", result.sets},
            {"operations", result.plan.operations},
            {"teraflops", teraflops(result)},
            {"error", result.verdict.oError},
            {"bound", result.verdict.oBound}};
}

std::string utcDate() {
    const std::time_t now = std::time(nullptr);
    std::tm utc{};
#if defined(_WIN32)
    gmtime_s(&utc, &now);
#else
    gmtime_r(&now, &utc);
#endif
    char text[sizeof("2000-01-01T00:00:00Z")];
    return {text, std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

void writeReport(const BenchOptions& options, const host::DeviceSummary& summary, const std::vector<Result>& results) {
    Json list = Json::array();
    for (const Result& result : results)
        list.push_back(json(result));
    const Json document = {
        {"program", fmt::format("vkflash {}.{}.{}", VKF_VERSION_MAJOR, VKF_VERSION_MINOR, VKF_VERSION_PATCH)},
        {"commit", options.commit},
        {"date", utcDate()},
        {"device", summary.name},
        {"driver", summary.driver},
        {"apiVersion", apiVersionText(summary.apiVersion)},
        {"commandLine", options.commandLine},
        {"results", std::move(list)}};
    try {
        std::vector<AtomicFile> files;
        files.emplace_back(options.json);
        files[0].write(document.dump(2) + "\n");
        AtomicFile::commit(files);
    } catch (const WriteError& error) {
        fail("--json {}: {}", options.json, error.what());
    }
}

void benchAll(const BenchOptions& options) {
    const std::vector<VkfProblem> problems = grid(options);
    try {
        if (!options.json.empty())
            checkWritable(options.json);
    } catch (const WriteError& error) {
        failInput("--json {}: {}", options.json, error.what());
    }
    host::Device device = openDevice(options.device);
    fmt::print("device  {}, {}\n", device.summary().name, device.summary().driver);
    fmt::print("shape   {} sequences, {} heads over {} KV heads{}\n\n", options.shape.batch, options.shape.heads,
               problems.empty() ? 0 : problems[0].kvHeads, options.math.causal.empty() ? "" : ", causal");
    printHeading();
    std::vector<Result> results;
    Progress progress("bench");
    for (const VkfProblem& problem : problems) {
        const double share = static_cast<double>(results.size()) / static_cast<double>(problems.size());
        results.push_back(bench(device, problem, options, [&] { progress.update(share); }));
        progress.hide();
        printRow(results.back());
    }
    if (options.device.validation)
        checkValidation(device);
    if (!options.json.empty())
        writeReport(options, device.summary(), results);
}

} // namespace

void addBenchCommand(CLI::App& program, Action& action, const std::string& commandLine) {
    auto options = std::make_shared<BenchOptions>();
    options->commandLine = commandLine;
    CLI::App* command = program.add_subcommand("bench", "Times of each path on a grid of shapes, each result checked.");
    command->add_option("--rows", options->rows, "list of query rows")->delimiter(',')->capture_default_str();
    command->add_option("--dim", options->dims, "list of head dimensions")->delimiter(',')->capture_default_str();
    command->add_option("--type", options->types, "list of f32, f16, bf16")->delimiter(',')->capture_default_str();
    command->add_option("--path", options->paths, "list of paths")->delimiter(',')->capture_default_str();
    addHeadOptions(*command, options->shape);
    addMaskOptions(*command, options->math);
    addDeviceOptions(*command, options->device);
    command->add_option("--runs", options->timing.maxRuns, "most runs of each")->capture_default_str();
    command->add_option("--seconds", options->timing.seconds, "most wall time of each")->capture_default_str();
    command->add_option("--sample-rows", options->sampleRows, "rows of each head to check; 0 = all")
        ->capture_default_str();
    command->add_option("--json", options->json, "file that the times also go to");
    command->add_option("--commit", options->commit, "what was measured, for that file");
    command->callback([options, &action] { action = [options] { benchAll(*options); }; });
}

} // namespace vkf::tools
