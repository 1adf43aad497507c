// SPDX-License-Identifier: MIT
//
// vkflash bench decode: few query rows against long caches. Compares each call with a kernel that only reads the same
// bytes, and with the times of other implementations.
#include <functional>
#include <memory>
#include <vector>

#include "bench/bench_report.hpp"
#include "bench/benches.hpp"
#include "bench/decode_measure.hpp"
#include "bench/shape_bench.hpp"
#include "cli/error.hpp"
#include "cli/options.hpp"
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

class DecodeBench : public ShapeBench {
public:
    explicit DecodeBench(const DecodeOptions& options)
        : ShapeBench("decode", decodeProblems(options.shapes), options.compare, options.device, options.report),
          options_(options), memory_(device(), options.shapes.valuesInKeys), plainRead_(device()) {}

private:
    void printHeading() const override {
        const DecodeShapes& shapes = options_.shapes;
        fmt::print("shape   {} query heads over {} KV heads, D = {}{}{}\n\n", shapes.heads, shapes.kvHeads, shapes.dim,
                   shapes.valueDim != 0 ? fmt::format(", Dv = {}", shapes.valueDim) : "",
                   shapes.valuesInKeys ? ", v in k" : "");
        printDecodeHeading();
    }

    void printShape(const VkfProblem& problem) const override { printDecodeShape(problem, problem.path); }

    void measure(const VkfProblem& problem, const std::function<void()>& afterRun) override {
        const DecodeResult result =
            measureDecode(device(), clock(), memory_, plainRead_, problem, options_.measure, afterRun);
        const std::vector<Peer> peers = peersOf(peerShapeOf(problem), comparisons());
        hideProgress();
        printResult(result, peers);
        results().add(decodeJson(result, peers), result.verdict, result.plan);
    }

    const DecodeOptions& options_;
    BenchMemory memory_;
    PlainRead plainRead_;
};

} // namespace

void addBenchDecodeCommand(CLI::App& bench, Action& action, const std::string& commandLine) {
    auto options = std::make_shared<DecodeOptions>();
    options->report.commandLine = commandLine;
    CLI::App* command = bench.add_subcommand(
        "decode",
        "Few query rows against long caches: bytes a second, relative to a kernel that only reads the caches.");
    command->footer("vkflash bench decode --keys 4096,32768 --batch 1,16 --json times.json");
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
