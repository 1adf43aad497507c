// SPDX-License-Identifier: MIT
#include "decode_measure.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "bench_measure.hpp"
#include "shader_table.hpp"
#include "shared/plain_read_params.h"
#include "verdict.hpp"
#include "vkflash/vkflash.hpp"

namespace vkf::tools {

namespace {

// Small caches take turns over so many sets that together they pass any device's caches.
constexpr size_t mostSets = 256;
// A submission takes about so long: its own beginning and end are lost in it, and no watchdog minds.
constexpr double submissionSeconds = 0.004;
constexpr size_t mostCalls = 256;

std::vector<uint32_t> plainReadSpirv() { return toolShaderBinaries[0].words(); }

uint64_t keyBytes(const VkfProblem& problem) {
    return vkfStoredBytes(problem.k.type, uint64_t{problem.batch} * problem.kvHeads * problem.keys * problem.headDim);
}

// Records `calls` calls with a barrier after each and returns the seconds of one.
class Chain {
public:
    Chain(host::Device& device, size_t sets, std::function<void(VkCommandBuffer, size_t)> record)
        : device_(device), sets_(sets), record_(std::move(record)) {}

    double run(size_t calls) {
        const double seconds = device_.submit([&](VkCommandBuffer commands) {
            for (size_t i = 0; i < calls; ++i) {
                next_ = (next_ + 1) % sets_;
                record_(commands, next_);
                recordComputeBarrier(device_, commands);
            }
        });
        return seconds / static_cast<double>(calls);
    }
    size_t last() const noexcept { return next_; } // set that was used last

private:
    host::Device& device_;
    size_t sets_;
    size_t next_ = 0;
    std::function<void(VkCommandBuffer, size_t)> record_;
};

// One KV head of one sequence as a problem of its own. `head` counts the KV heads of all sequences.
VkfVerdict verifyHead(const VkfProblem& problem, const host::HostTensors& tensors, const VkfPlanInfo& plan,
                      uint64_t head) {
    VkfProblem part = problem;
    part.batch = 1;
    part.kvHeads = 1;
    part.queryHeads = problem.queryHeads / problem.kvHeads;
    const bool paged = problem.paging.enabled != 0;
    const uint64_t sequence = head / problem.kvHeads;
    const uint64_t rows = head * part.queryHeads * problem.queryRows * problem.headDim;
    const VkfTensorLayout k = vkfTensorLayout(&problem, VKF_TENSOR_K); // v is laid out alike
    const uint64_t keys = (paged ? 0 : sequence * k.batchStride) + head % problem.kvHeads * k.headStride;
    for (VkfTensor* tensor : {&part.k, &part.v}) {
        tensor->batchStride = k.batchStride;
        tensor->headStride = k.headStride;
        tensor->rowStride = k.rowStride;
    }
    const auto at = [](const void* base, uint64_t element, VkfType type) {
        return static_cast<const std::byte*>(base) + vkfStoredBytes(type, element);
    };
    host::HostTensors ofHead;
    ofHead.q = at(tensors.q, rows, problem.q.type);
    ofHead.k = at(tensors.k, keys, problem.k.type);
    ofHead.v = at(tensors.v, keys, problem.v.type);
    ofHead.o = static_cast<std::byte*>(tensors.o) + rows * vkfTypeBytes(problem.o.type);
    ofHead.blockTable = paged ? tensors.blockTable + sequence * problem.paging.maxPages : nullptr;
    return verifyResult(part, ofHead, plan);
}

VkfVerdict verifyHeads(const VkfProblem& problem, const host::HostTensors& tensors, const VkfPlanInfo& plan,
                       uint32_t sampleHeads) {
    const uint64_t heads = uint64_t{problem.batch} * problem.kvHeads;
    const uint64_t samples = sampleHeads == 0 ? heads : std::min<uint64_t>(sampleHeads, heads);
    VkfVerdict worst{};
    for (uint64_t i = 0; i < samples; ++i) {
        // Evenly spread, the last one among them.
        const VkfVerdict verdict = verifyHead(problem, tensors, plan, (i + 1) * heads / samples - 1);
        if (i == 0 || !verdict.passed || (worst.passed && verdict.oError > worst.oError))
            worst = verdict;
        if (!worst.passed)
            break;
    }
    return worst;
}

} // namespace

PlainRead::PlainRead(const host::Device& device) : shader_(device, plainReadSpirv(), sizeof(shared::PlainReadParams)) {}

void PlainRead::record(VkCommandBuffer commands, const VkfBinding& first, const VkfBinding& second,
                       uint64_t bytes) const {
    shared::PlainReadParams params{};
    params.array[0] = first.address;
    params.array[1] = second.address;
    params.words = static_cast<uint32_t>(bytes / 16);
    params.workgroups = (params.words + VKF_READ_WORKGROUP_WORDS - 1) / VKF_READ_WORKGROUP_WORDS;
    shader_.record(commands, &params, 2 * params.workgroups);
}

DecodeResult measureDecode(host::Device& device, BenchMemory& memory, const PlainRead& plainRead,
                           const VkfProblem& problem, const DecodeMeasureOptions& options,
                           const std::function<void()>& afterRun) {
    const host::Plan plan(device, problem);
    memory.prepare(problem, plan.info().scratchBytes, mostSets);
    DecodeResult result;
    result.problem = problem;
    result.plan = plan.info();
    result.sets = memory.sets();
    result.cacheBytes = 2.0 * static_cast<double>(keyBytes(problem));

    Chain calls(device, memory.sets(), [&](VkCommandBuffer commands, size_t set) {
        const VkfBindings bindings = memory.bindings(set);
        VkfMessage message{};
        if (const VkfResult code = vkfCmdAttention(commands, plan.handle(), &bindings, &message); code != VKF_SUCCESS)
            throw host::Error(code, message.text);
    });
    Chain reads(device, memory.sets(), [&](VkCommandBuffer commands, size_t set) {
        const VkfBindings bindings = memory.bindings(set);
        plainRead.record(commands, bindings.k, bindings.v, keyBytes(problem));
    });

    calls.run(1);
    const double estimate = std::max(calls.run(4), 1e-9);
    result.calls = static_cast<size_t>(std::clamp(submissionSeconds / estimate, 1.0, double{mostCalls}));
    calls.run(result.calls);
    reads.run(result.calls);
    std::vector<double> callTimes;
    std::vector<double> readTimes;
    const auto start = std::chrono::steady_clock::now();
    do {
        readTimes.push_back(reads.run(result.calls));
        callTimes.push_back(calls.run(result.calls));
        afterRun();
    } while (callTimes.size() < options.maxRuns &&
             std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < options.seconds);
    result.call = timingOf(std::move(callTimes));
    result.read = timingOf(std::move(readTimes));
    requireTime(result.call.median, device);
    // What was timed is what is checked.
    result.verdict = verifyHeads(problem, memory.download(calls.last()), result.plan, options.sampleHeads);
    return result;
}

} // namespace vkf::tools
