// SPDX-License-Identifier: MIT
//
// vkflash bench decode: few query rows against long caches. Compares each call with a kernel that only reads the same
// bytes, and with the times of other implementations.
#include <memory>
#include <optional>
#include <vector>

#include "bench/bench_report.hpp"
#include "bench/bench_results.hpp"
#include "bench/benches.hpp"
#include "bench/comparisons.hpp"
#include "bench/decode_measure.hpp"
#include "cli/error.hpp"
#include "cli/options.hpp"
#include "cli/progress.hpp"
#include "cli/text.hpp"
#include "measure/problem_measure.hpp"
#include "shapes/decode_shapes.hpp"

namespace vkf::tools {

namespace {

struct DecodeOptions {
    DecodeShapes shapes;
    DeviceFlags device;
    DecodeMeasureOptions measure;
    std::vector<std::string> compare;
    ReportOptions report;
};

double secondsOf(const PeerResult& peer) { return countedOperations(peer.shape) / (peer.teraflops * 1e12); }

// ---- Output ----------------------------------------------------------------------------------------

void printDecodeHeading() {
    fmt::print("{:<5}{:>4}{:>8}{:>5}  {:<8}{:>7}{:>10}{:>10}{:>10}{:>8}{:>9}{:>7}  {:<15}  {}\n", "type", "B", "keys",
               "rows", "path", "splits", "median", "least", "read", "GB/s", "of read", "runs", "error / bound",
               "others: time (ratio)");
}

void printDecodeShape(const VkfProblem& problem, VkfPath path) {
    fmt::print("{:<5}{:>4}{:>8}{:>5}  {:<8}", vkfTypeName(problem.k.type), problem.batch, problem.keys,
               problem.queryRows, vkfPathName(path));
}

void printResult(const DecodeResult& result, const std::vector<Peer>& peers) {
    printDecodeShape(result.problem, result.plan.path);
    fmt::print("{:>7}{:>10}{:>10}{:>10}{:>8.0f}{:>8.0f}%{:>7}  {:<15}{}", result.plan.kvSplits,
               timeText(result.call.median), timeText(result.call.least), timeText(result.read.median),
               result.bytesPerSecond() * 1e-9, result.readShare() * 100, result.call.runs,
               fmt::format("{:.1g} / {:.1g}", result.verdict.oError, result.verdict.oBound), clockText(result.call));
    for (const Peer& peer : peers)
        fmt::print("  {} {} ({:.3g}x)", peer.result->name, timeText(secondsOf(*peer.result)),
                   secondsOf(*peer.result) / result.call.median);
    fmt::print("{}\n", result.verdict.passed ? "" : "  WRONG");
    std::fflush(stdout);
}

Json decodeJson(const DecodeResult& result, const std::vector<Peer>& peers) {
    Json json = problemJson(result.problem);
    json.update({{"path", vkfPathName(result.plan.path)},
                 {"plan", result.plan.description},
                 {"splits", result.plan.kvSplits},
                 {"medianSeconds", result.call.median},
                 {"leastSeconds", result.call.least},
                 {"mostSeconds", result.call.most},
                 {"spread", result.call.spread},
                 {"readSeconds", result.read.median},
                 {"leastReadSeconds", result.read.least},
                 {"submissions", result.call.runs},
                 {"callsInSubmission", result.calls},
                 {"bufferSets", result.sets},
                 {"cacheBytes", result.cacheBytes},
                 {"scratchBytes", result.plan.scratchBytes},
                 {"gigabytesPerSecond", result.bytesPerSecond() * 1e-9},
                 {"shareOfRead", result.readShare()},
                 {"error", result.verdict.oError},
                 {"bound", result.verdict.oBound}});
    json.update(clockJson(result.call));
    json["peers"] = Json::array();
    for (const Peer& peer : peers)
        json["peers"].push_back({{"name", peer.result->name},
                                 {"file", peer.comparison->file},
                                 {"seconds", secondsOf(*peer.result)},
                                 {"ratio", secondsOf(*peer.result) / result.call.median}});
    return json;
}

// ---- Runs --------------------------------------------------------------------------------------------

class DecodeBench {
public:
    explicit DecodeBench(const DecodeOptions& options)
        : options_(options), problems_(decodeProblems(options.shapes)), comparisons_(loadComparisons(options.compare)),
          device_(openDevice(options.device)), clock_(device_), memory_(device_, options.shapes.valuesInKeys),
          plainRead_(device_) {}

    void run() {
        fmt::print("device  {}, {}\n", device_.summary().name, device_.summary().driver);
        const DecodeShapes& shapes = options_.shapes;
        fmt::print("shape   {} query heads over {} KV heads, D = {}{}{}\n\n", shapes.heads, shapes.kvHeads, shapes.dim,
                   shapes.valueDim != 0 ? fmt::format(", Dv = {}", shapes.valueDim) : "",
                   shapes.valuesInKeys ? ", v in k" : "");
        printDecodeHeading();
        for (const VkfProblem& problem : problems_) {
            measureOne(problem);
            ++done_;
        }
        progress_.hide();
        printComparisons(comparisons_, results_.size());
        results_.requireRight();
        results_.write(options_.report, "decode", device_, options_.device,
                       {{"comparisons", comparisonsJson(comparisons_)}});
    }

private:
    void measureOne(const VkfProblem& problem) {
        const double share = static_cast<double>(done_) / static_cast<double>(problems_.size());
        std::optional<DecodeResult> result;
        try {
            result = measureDecode(device_, clock_, memory_, plainRead_, problem, options_.measure,
                                   [&] { progress_.update(share); });
        } catch (const host::Error& error) {
            if (!isOfOneShape(error.result()))
                throw;
            skip(problem, error.what());
            return;
        }
        const std::vector<Peer> peers = peersOf(peerShapeOf(problem), comparisons_);
        progress_.hide();
        printResult(*result, peers);
        results_.judge(result->verdict, result->plan);
        results_.add(decodeJson(*result, peers));
    }

    void skip(const VkfProblem& problem, const std::string& reason) {
        progress_.hide();
        printDecodeShape(problem, problem.path);
        fmt::print("  left out: {}\n", reason);
        std::fflush(stdout);
        results_.leaveOut(problem, reason);
    }

    const DecodeOptions& options_;
    std::vector<VkfProblem> problems_;
    std::vector<Comparison> comparisons_;
    host::Device device_;
    GpuClock clock_;
    BenchMemory memory_;
    PlainRead plainRead_;
    Progress progress_{"bench decode"};
    size_t done_ = 0;
    BenchResults results_;
};

} // namespace

void addBenchDecodeCommand(CLI::App& bench, Action& action, const std::string& commandLine) {
    auto options = std::make_shared<DecodeOptions>();
    options->report.commandLine = commandLine;
    CLI::App* command = bench.add_subcommand(
        "decode",
        "Few query rows against long caches: bytes a second, relative to a kernel that only reads the caches.");
    addDecodeShapeOptions(*command, options->shapes);
    addCompareOption(*command, options->compare);
    addDeviceOptions(*command, options->device);
    command->add_option("--runs", options->measure.maxRuns, "maximum number of submissions for each shape")
        ->capture_default_str();
    command->add_option("--seconds", options->measure.seconds, secondsHelp)->capture_default_str();
    command->add_option("--sample-heads", options->measure.sampleHeads, "number of KV heads to check; 0 = all")
        ->capture_default_str();
    addReportOptions(*command, options->report);
    command->callback([options, &action] {
        action = [options] {
            checkReport(options->report);
            checkTiming(options->measure.maxRuns, options->measure.seconds);
            options->measure.valuesInKeys = options->shapes.valuesInKeys;
            DecodeBench(*options).run();
        };
    });
}

} // namespace vkf::tools
