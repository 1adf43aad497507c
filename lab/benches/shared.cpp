// SPDX-License-Identifier: MIT
//
// vkflash_lab shared: many sequences begin with the same keys, which lie in the same pages. One call attends to these
// keys for the rows of all sequences, another call attends to the keys that each sequence has alone, and a merge joins
// both. Against it: one call in which each sequence attends to all of its keys.
#include <array>
#include <memory>
#include <numeric>

#include "bench/bench_report.hpp"
#include "benches/benches.hpp"
#include "cli/error.hpp"
#include "cli/options.hpp"
#include "cli/text.hpp"
#include "cli/verdict.hpp"
#include "measure/compute_shader.hpp"
#include "measure/gpu_clock.hpp"
#include "measure/problem_measure.hpp"
#include "measure/timing.hpp"
#include "tensors/random_tensors.hpp"
#include "vkflash/vkflash.hpp"

namespace vkf::tools {

namespace {

struct SharedOptions {
    uint32_t batch = 64;
    uint32_t heads = 32;
    uint32_t kvHeads = 8;
    uint32_t dim = 128;
    uint32_t shared = 32768;
    uint32_t own = 512;
    uint32_t pageSize = 16;
    uint32_t splits = 0;
    std::string type = "f16";
    size_t runs = 1000;
    double seconds = 0.5;
    DeviceFlags device;
    ReportOptions report;
};

// The call without sharing: one row of each sequence. With `packed`, the rows are packed sequences. q and o lie in
// memory as without, but lse is [heads, sequences], as in a call whose only sequence has all rows.
VkfProblem wholeProblem(const SharedOptions& options, bool packed) {
    auto problem = make<VkfProblem>();
    problem.batch = options.batch;
    problem.queryHeads = options.heads;
    problem.kvHeads = options.kvHeads;
    problem.queryRows = packed ? options.batch : 1;
    problem.longestRows = packed ? 1 : 0;
    problem.keys = options.shared + options.own;
    problem.headDim = options.dim;
    problem.q = problem.k = problem.v = dense(parseType("--type", options.type));
    problem.o.type = VKF_TYPE_F32;
    if (packed)
        problem.q = rowsFirst(problem.q.type, options.batch, options.heads, options.dim);
    if (packed)
        problem.o = rowsFirst(VKF_TYPE_F32, options.batch, options.heads, options.dim);
    problem.paging = {options.pageSize,
                      problem.keys / options.pageSize,
                      (options.shared + options.batch * options.own) / options.pageSize,
                      0,
                      {}};
    enable(problem, VKF_USE_BLOCK_TABLE);
    enable(problem, VKF_USE_KEY_LENGTHS);
    enable(problem, VKF_USE_LSE);
    enable(problem, VKF_USE_CU_SEQLENS, packed);
    return problem;
}

VkfProblem prefixProblem(const SharedOptions& options) {
    VkfProblem problem = wholeProblem(options, true);
    problem.batch = 1;
    problem.longestRows = 0;
    problem.keys = options.shared;
    problem.kvSplits = options.splits;
    enable(problem, VKF_USE_CU_SEQLENS, false);
    enable(problem, VKF_USE_KEY_LENGTHS, false);
    return problem;
}

VkfProblem ownProblem(const SharedOptions& options) {
    VkfProblem problem = wholeProblem(options, true);
    problem.keys = options.own;
    return problem;
}

VkfMergeProblem mergeProblem(const SharedOptions& options) {
    auto merge = make<VkfMergeProblem>();
    merge.partials = 2;
    merge.batch = 1;
    merge.heads = options.heads;
    merge.rows = options.batch;
    merge.dim = options.dim;
    merge.partial = merge.o = wholeProblem(options, true).o;
    enable(merge, VKF_USE_LSE);
    return merge;
}

// The first pages are shared, the others belong to one sequence each. Entries follow that the call over own keys may
// not need: its table begins behind the shared pages of the first sequence.
std::vector<int32_t> tableOf(const SharedOptions& options) {
    const uint32_t shared = options.shared / options.pageSize;
    const uint32_t own = options.own / options.pageSize;
    std::vector<int32_t> table;
    for (uint32_t sequence = 0; sequence < options.batch; ++sequence)
        for (uint32_t entry = 0; entry < shared + own; ++entry)
            table.push_back(static_cast<int32_t>(entry < shared ? entry : entry + sequence * own));
    table.resize(table.size() + shared, -1);
    return table;
}

// A call of attention with its scratch memory.
struct PlannedCall {
    VkfProblem problem;
    host::Plan plan;
    host::Buffer scratch;

    PlannedCall(host::Device& device, const VkfProblem& ofCall)
        : problem(ofCall), plan(device, problem), scratch(device.createBuffer(plan.info().scratchBytes)) {}
};

class SharedCalls {
public:
    SharedCalls(host::Device& device, const SharedOptions& options)
        : device_(device), options_(options), packed_(wholeProblem(options, true)),
          whole_(device, wholeProblem(options, false)), prefix_(device, prefixProblem(options)),
          own_(device, ownProblem(options)),
          q_(normalBlock(packed_.q.type, layoutOf(packed_, VKF_TENSOR_Q).elements, 1)),
          k_(normalBlock(packed_.k.type, layoutOf(packed_, VKF_TENSOR_K).elements, 2)),
          v_(normalBlock(packed_.v.type, layoutOf(packed_, VKF_TENSOR_V).elements, 3)), table_(tableOf(options)),
          lengths_(options.batch, static_cast<int32_t>(options.shared + options.own)), starts_(options.batch + 1),
          qBuffer_(uploaded(device, q_)), kBuffer_(uploaded(device, k_)), vBuffer_(uploaded(device, v_)),
          tableBuffer_(uploaded(device, table_)), lengthsBuffer_(uploaded(device, lengths_)),
          ownLengthsBuffer_(uploaded(device, std::vector<int32_t>(options.batch, static_cast<int32_t>(options.own)))) {
        std::iota(starts_.begin(), starts_.end(), 0);
        startsBuffer_ = uploaded(device, starts_);
        const VkfMergeProblem merge = mergeProblem(options);
        requireSuccess(vkfCreateMerge, device.context(), &merge, merge_.put());
        partials_ = device.createBuffer(2 * oBytes());
        partialLse_ = device.createBuffer(2 * lseBytes());
        for (host::Buffer* o : {&merged_, &o_})
            *o = device.createBuffer(oBytes());
        for (host::Buffer* lse : {&mergedLse_, &lse_})
            *lse = device.createBuffer(lseBytes());
    }

    void recordWhole(VkCommandBuffer commands) const {
        recordCall(commands, whole_, tableBuffer_.binding(), lengthsBuffer_, o_.binding(), lse_.binding());
    }

    // The first two calls do not depend on each other.
    void recordShared(VkCommandBuffer commands) const {
        recordCall(commands, prefix_, tableBuffer_.binding(), lengthsBuffer_, partials_.binding(),
                   partialLse_.binding());
        const uint64_t shared = uint64_t{options_.shared / options_.pageSize} * sizeof(int32_t);
        recordCall(commands, own_, tableBuffer_.binding(shared), ownLengthsBuffer_, partials_.binding(oBytes()),
                   partialLse_.binding(lseBytes()));
        recordComputeBarrier(device_, commands);
        auto bindings = make<VkfMergeBindings>();
        bindings.partials = partials_.binding();
        bindings.partialLse = partialLse_.binding();
        bindings.o = merged_.binding();
        bindings.lse = mergedLse_.binding();
        requireSuccess(vkfCmdMerge, commands, merge_.get(), &bindings);
    }

    // Compares the merged result with the reference of one call over all keys.
    VkfVerdict verify() {
        std::vector<std::byte> o(oBytes());
        std::vector<float> lse(lseBytes() / sizeof(float));
        device_.download(o.data(), merged_, oBytes());
        device_.download(lse.data(), mergedLse_, lseBytes());
        host::HostTensors tensors{.q = q_.data(), .k = k_.data(), .v = v_.data()};
        tensors.keyLengths = lengths_.data();
        tensors.blockTable = table_.data();
        tensors.cuSeqlensQ = starts_.data();
        tensors.o = o.data();
        tensors.lse = lse.data();
        return verifyResult(packed_, tensors, prefix_.plan.info(), 4);
    }

    std::array<const VkfPlanInfo*, 3> plans() const {
        return {&whole_.plan.info(), &prefix_.plan.info(), &own_.plan.info()};
    }

private:
    uint64_t oBytes() const { return uint64_t{options_.batch} * options_.heads * options_.dim * sizeof(float); }
    uint64_t lseBytes() const { return uint64_t{options_.batch} * options_.heads * sizeof(float); }

    void recordCall(VkCommandBuffer commands, const PlannedCall& call, VkfBinding table, const host::Buffer& lengths,
                    VkfBinding o, VkfBinding lse) const {
        auto bindings = make<VkfBindings>();
        bindings.q = qBuffer_.binding();
        bindings.k = kBuffer_.binding();
        bindings.v = vBuffer_.binding();
        bindings.o = o;
        bindings.lse = lse;
        bindings.blockTable = table;
        if (has(call.problem, VKF_USE_KEY_LENGTHS))
            bindings.keyLengths = lengths.binding();
        if (has(call.problem, VKF_USE_CU_SEQLENS))
            bindings.cuSeqlensQ = startsBuffer_.binding();
        bindings.scratch = call.scratch.binding();
        recordAttention(commands, call.plan.handle(), bindings);
    }

    host::Device& device_;
    SharedOptions options_;
    VkfProblem packed_;
    PlannedCall whole_, prefix_, own_;
    std::vector<std::byte> q_, k_, v_;
    std::vector<int32_t> table_, lengths_, starts_;
    host::Buffer qBuffer_, kBuffer_, vBuffer_, tableBuffer_, lengthsBuffer_, ownLengthsBuffer_, startsBuffer_;
    host::Buffer partials_, partialLse_, merged_, mergedLse_, o_, lse_;
    Merge merge_;
};

void benchShared(const SharedOptions& options) {
    if (options.pageSize == 0 || options.shared % options.pageSize != 0 || options.own % options.pageSize != 0 ||
        options.shared == 0 || options.own == 0 || options.batch == 0)
        failInput("--shared {}, --own {}: take multiples of --page-size {}, at least 1", options.shared, options.own,
                  options.pageSize);
    checkReport(options.report);
    host::Device device = openDevice(options.device);
    SharedCalls calls(device, options);
    GpuClock clock(device);
    const auto timeOf = [&](void (SharedCalls::*record)(VkCommandBuffer) const) {
        return std::function<ClockSample()>([&clock, &calls, record] {
            return clock.submit([&](VkCommandBuffer commands) { (calls.*record)(commands); });
        });
    };
    const std::array runs = {timeOf(&SharedCalls::recordWhole), timeOf(&SharedCalls::recordShared)};
    const TimingOptions timing = {.warmUps = 3, .maxRuns = options.runs, .seconds = options.seconds};
    const std::vector<Timing> times = measureInTurn(runs, timing, clock.highest());
    requireTime(times[0].median, device);
    const VkfVerdict verdict = calls.verify();
    const double ratio = times[1].median / times[0].median;
    const auto [whole, prefix, own] = calls.plans();
    fmt::print("device  {}, {}\n", device.summary().name, device.summary().driver);
    fmt::print("shape   {} sequences of one row, {} shared keys, {} own keys, {} heads over {}, D = {}, {}\n\n",
               options.batch, options.shared, options.own, options.heads, options.kvHeads, options.dim, options.type);
    fmt::print("one call     {:>11}  {}\n", timeText(times[0].median), whole->description);
    fmt::print("two, merged  {:>11}  {}\n{:26}{}\n", timeText(times[1].median), prefix->description, "",
               own->description);
    fmt::print("ratio        {:>11.4f}  {}\n", ratio, errorText(verdict.oError, verdict.oBound));
    requirePassed(verdict, "the merged result");
    writeReport(options.report, "shared", device.summary(),
                {{"sequences", options.batch},
                 {"sharedKeys", options.shared},
                 {"ownKeys", options.own},
                 {"queryHeads", options.heads},
                 {"kvHeads", options.kvHeads},
                 {"headDim", options.dim},
                 {"type", options.type},
                 {"pageSize", options.pageSize},
                 {"splits", options.splits},
                 {"wholeSeconds", times[0].median},
                 {"sharedSeconds", times[1].median},
                 {"timeRatio", ratio},
                 {"plans", {whole->description, prefix->description, own->description}},
                 {"error", verdict.oError},
                 {"bound", verdict.oBound}});
}

} // namespace

void addSharedCommand(CLI::App& program, Action& action) {
    const auto [command, options] = addCommand<SharedOptions>(
        program, action, "shared",
        "Sequences that share their first keys: two calls and a merge against one call without sharing.",
        "vkflash_lab shared --batch 32 --json shared.json", benchShared);
    addValue(*command, "--batch", options->batch, "number of sequences");
    addValue(*command, "--heads", options->heads, "number of query heads");
    addValue(*command, "--kv-heads", options->kvHeads, "number of KV heads");
    addValue(*command, "--dim", options->dim, "head dimension");
    addValue(*command, "--shared", options->shared, "keys that all sequences share");
    addValue(*command, "--own", options->own, "keys that each sequence has alone");
    addValue(*command, "--page-size", options->pageSize, "keys of a page");
    addValue(*command, "--splits", options->splits, "key splits of the shared keys; 0 = the library's choice");
    addValue(*command, "--type", options->type, "type of q, k and v: f32, f16 or bf16");
    addValue(*command, "--runs", options->runs, "maximum number of runs");
    addValue(*command, "--seconds", options->seconds, secondsHelp);
    addDeviceOptions(*command, options->device);
    addReportOptions(*command, options->report);
}

} // namespace vkf::tools
