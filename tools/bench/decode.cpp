// SPDX-License-Identifier: MIT
//
// vkflash bench decode: few query rows against long caches. Compares each call with a kernel that only reads the same
// bytes, and with the times of other implementations.
#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "bench/bench_report.hpp"
#include "bench/benches.hpp"
#include "bench/shape_bench.hpp"
#include "cli/error.hpp"
#include "cli/options.hpp"
#include "cli/text.hpp"
#include "cli/verdict.hpp"
#include "measure/plain_read_params.h"
#include "measure/problem_measure.hpp"
#include "shapes/bench_shapes.hpp"
#include "vkflash/reference.h"
#include "vkflash/vkflash.hpp"

namespace vkf::tools {

namespace {

struct DecodeResult {
    VkfProblem problem{};
    VkfPlanInfo plan{};
    Timing call;      // one call with its barrier
    Timing read;      // one plain read of k and v with its barrier
    size_t calls = 0; // calls in one submission
    size_t sets = 0;  // sets of buffers over which calls take turns
    double cacheBytes = 0;
    VkfVerdict verdict{}; // the worst of the checked heads

    double bytesPerSecond() const { return cacheBytes / call.median; }
    double readShare() const { return read.median / call.median; }
};

// A range of memory to read. It is not empty.
struct ReadRange {
    VkDeviceAddress address;
    uint64_t bytes;
};
using ReadRanges = std::array<ReadRange, 2>;

// Records the kernel that only reads both ranges.
void recordRead(const ComputeShader& shader, VkCommandBuffer commands, const ReadRanges& ranges) {
    shared::PlainReadParams params{};
    std::array<uint32_t, 2> workgroups{};
    for (size_t i = 0; i < ranges.size(); ++i) {
        params.array[i] = ranges[i].address;
        params.words[i] = static_cast<uint32_t>(ranges[i].bytes / 16);
        workgroups[i] = (params.words[i] + VKF_READ_WORKGROUP_WORDS - 1) / VKF_READ_WORKGROUP_WORDS;
    }
    params.workgroups = workgroups[0];
    shader.record(commands, &params, workgroups[0] + workgroups[1]);
}

struct DecodeOptions {
    DecodeShapes shapes;
    DeviceFlags device;
    MeasureOptions measure = {.timing = {.warmUps = 1, .maxRuns = 200, .seconds = 0.2}, .sampleRows = 0};
    uint32_t sampleHeads = 4; // KV heads, counted over all sequences, whose results are checked; 0 = all
    std::vector<std::string> compare;
    ReportOptions report;
};

// ---- Measurement: a submission holds many calls one after the other, as the layers of a model make them. Submissions
// of a kernel that only reads the same caches run in turn with them. ---------------------------------------

// Bytes of k and of v that one call reads.
std::array<uint64_t, 2> readBytes(const VkfProblem& problem, bool valuesInKeys) {
    const bool chosen = has(problem, VKF_USE_CHOSEN_KEYS);
    const uint32_t keys = chosen ? std::min(problem.chosenKeys.count, problem.keys) : problem.keys;
    const uint64_t rows = uint64_t{problem.batch} * problem.kvHeads * keys;
    const uint32_t valueDim = vkf::layoutOf(problem, VKF_TENSOR_V).dim;
    return {vkfStoredBytes(problem.k.type, rows * problem.headDim),
            valuesInKeys ? 0 : vkfStoredBytes(problem.v.type, rows * valueDim)};
}

// The two ranges that the plain read reads: k and v, or the two halves of k if v is a view of k.
ReadRanges readRanges(const VkfBindings& bindings, const std::array<uint64_t, 2>& bytes) {
    if (bytes[1] != 0)
        return {{{bindings.k.address, bytes[0]}, {bindings.v.address, bytes[1]}}};
    const uint64_t half = bytes[0] / 32 * 16;
    return {{{bindings.k.address, half}, {bindings.k.address + half, bytes[0] - half}}};
}

// Verifies one KV head of one sequence as a problem of its own. `head` counts the KV heads of all sequences.
VkfVerdict verifyHead(const VkfProblem& problem, const BenchMemory& memory, const host::HostTensors& outputs,
                      const VkfPlanInfo& plan, uint64_t head, uint32_t sampleRows) {
    VkfProblem part = problem;
    part.batch = 1;
    part.kvHeads = 1;
    part.queryHeads = problem.queryHeads / problem.kvHeads;
    const bool paged = has(problem, VKF_USE_BLOCK_TABLE);
    const uint64_t sequence = head / problem.kvHeads;
    const uint64_t rows = head * part.queryHeads * problem.queryRows;
    const uint32_t valueDim = vkf::layoutOf(problem, VKF_TENSOR_O).dim;
    // The part of k or v that belongs to the head, in pages of all sequences.
    const auto ofHead = [&](VkfTensorRole role, VkfTensor& tensor) {
        const VkfTensorLayout layout = vkf::layoutOf(problem, role);
        tensor = {layout.type, 0, layout.batchStride, layout.headStride, layout.rowStride};
        const uint64_t first = (paged ? 0 : sequence * layout.batchStride) + head % problem.kvHeads * layout.headStride;
        return memory.inputRange(role, first, vkf::layoutOf(part, role).elements);
    };
    const std::vector<std::byte> q = memory.inputRange(VKF_TENSOR_Q, rows * problem.headDim,
                                                       uint64_t{part.queryHeads} * problem.queryRows * problem.headDim);
    const std::vector<std::byte> k = ofHead(VKF_TENSOR_K, part.k);
    const std::vector<std::byte> v = ofHead(VKF_TENSOR_V, part.v);
    host::HostTensors tensors{.q = q.data(), .k = k.data(), .v = v.data()};
    tensors.o = static_cast<std::byte*>(outputs.o) + vkfStoredBytes(problem.o.type, rows * valueDim);
    tensors.chosenKeys = outputs.chosenKeys + sequence * problem.chosenKeys.batchStride;
    tensors.blockTable = paged ? outputs.blockTable + sequence * problem.paging.maxPages : nullptr;
    return verifyResult(part, tensors, plan, sampleRows);
}

VkfVerdict verifyHeads(const VkfProblem& problem, const BenchMemory& memory, const host::HostTensors& outputs,
                       const VkfPlanInfo& plan, const DecodeOptions& options) {
    const uint64_t heads = uint64_t{problem.batch} * problem.kvHeads;
    const uint64_t samples = options.sampleHeads == 0 ? heads : std::min<uint64_t>(options.sampleHeads, heads);
    VkfVerdict worst{};
    for (uint64_t i = 0; i < samples; ++i) {
        // The samples are spread evenly, and the last head is one of them.
        const VkfVerdict verdict =
            verifyHead(problem, memory, outputs, plan, (i + 1) * heads / samples - 1, options.measure.sampleRows);
        if (i == 0 || !verdict.passed || (worst.passed && verdict.oError > worst.oError))
            worst = verdict;
        if (!worst.passed)
            break;
    }
    return worst;
}

// Calls afterRun after each submission. Throws what planning and running throw.
// The caller judges the verdict.
DecodeResult measureDecode(host::Device& device, GpuClock& clock, BenchMemory& memory, const ComputeShader& plainRead,
                           const VkfProblem& problem, const DecodeOptions& options,
                           const std::function<void()>& afterRun) {
    const host::Plan plan(device, problem);
    memory.prepare(problem, plan.info().scratchBytes, maxChainSets);
    DecodeResult result;
    result.problem = problem;
    result.plan = plan.info();
    result.sets = memory.sets();
    const std::array<uint64_t, 2> bytes = readBytes(problem, options.shapes.valuesInKeys);
    result.cacheBytes = static_cast<double>(bytes[0] + bytes[1]);

    CallChain calls(device, clock, memory.sets(), [&](VkCommandBuffer commands, size_t set) {
        recordAttention(commands, plan.handle(), memory.bindings(set));
    });
    CallChain reads(device, clock, memory.sets(), [&](VkCommandBuffer commands, size_t set) {
        recordRead(plainRead, commands, readRanges(memory.bindings(set), bytes));
    });
    result.calls = calls.callsOfSubmission();
    const std::array<std::function<ClockSample()>, 2> runs = {[&] { return reads.run(result.calls); },
                                                              [&] {
                                                                  const ClockSample sample = calls.run(result.calls);
                                                                  afterRun();
                                                                  return sample;
                                                              }};
    const std::vector<Timing> timings = measureInTurn(runs, options.measure.timing, clock.highest());
    result.read = timings[0];
    result.call = timings[1];
    requireTime(result.call.median, device);
    // Checks the set of the last timed call, so the check is about what was timed.
    result.verdict = verifyHeads(problem, memory, memory.downloadOutputs(calls.last()), result.plan, options);
    return result;
}

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
        fmt::print("  {} {} ({:.3g}x)", peer.name, timeText(peer.seconds()), peer.seconds() / result.call.median);
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
        json["peers"].push_back({{"name", peer.name},
                                 {"file", peer.file},
                                 {"seconds", peer.seconds()},
                                 {"ratio", peer.seconds() / result.call.median}});
    return json;
}

// ---- Runs --------------------------------------------------------------------------------------------

class DecodeBench : public ShapeBench {
public:
    explicit DecodeBench(const DecodeOptions& options)
        : ShapeBench("decode", decodeProblems(options.shapes), options.measure.timing, options.compare, options.device,
                     options.report),
          options_(options), memory_(device(), options.shapes.valuesInKeys),
          plainRead_(device(), toolShader("plain_read"), sizeof(shared::PlainReadParams)) {}

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
        const DecodeResult result = measureDecode(device(), clock(), memory_, plainRead_, problem, options_, afterRun);
        const std::vector<Peer> peers = peersOf(peerShapeOf(problem), comparisons());
        hideProgress();
        printResult(result, peers);
        results().add(decodeJson(result, peers), result.verdict, result.plan);
    }

    const DecodeOptions& options_;
    BenchMemory memory_;
    ComputeShader plainRead_;
};

} // namespace

void addBenchDecodeCommand(CLI::App& bench, Action& action) {
    const auto [command, options] = addCommand<DecodeOptions>(
        bench, action, "decode",
        "Few query rows against long caches: bytes a second, relative to a kernel that only reads the caches.",
        "vkflash bench decode --keys 4096,32768 --batch 1,16 --json times.json",
        [](const DecodeOptions& chosen) { DecodeBench(chosen).run(); });
    addDecodeShapeOptions(*command, options->shapes);
    addCompareOption(*command, options->compare);
    addDeviceOptions(*command, options->device);
    addValue(*command, "--runs", options->measure.timing.maxRuns, "maximum number of submissions for each shape");
    addValue(*command, "--seconds", options->measure.timing.seconds, secondsHelp);
    addValue(*command, "--sample-heads", options->sampleHeads, "number of KV heads to check; 0 = all");
    addValue(*command, "--sample-rows", options->measure.sampleRows,
             "number of rows to check of each query head of these KV heads; 0 = all");
    addReportOptions(*command, options->report);
}

} // namespace vkf::tools
