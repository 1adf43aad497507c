// SPDX-License-Identifier: MIT
#include "decode_measure.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "bench_measure.hpp"
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

// Bytes of K and of V that a call reads.
std::array<uint64_t, 2> readBytes(const VkfProblem& problem, bool valuesInKeys) {
    const uint64_t rows = uint64_t{problem.batch} * problem.kvHeads * problem.keys;
    const uint32_t valueDim = vkfTensorLayout(&problem, VKF_TENSOR_V).dim;
    return {vkfStoredBytes(problem.k.type, rows * problem.headDim),
            valuesInKeys ? 0 : vkfStoredBytes(problem.v.type, rows * valueDim)};
}

// What the plain read reads: both caches, or the two halves of one.
std::array<PlainRead::Range, 2> readRanges(const VkfBindings& bindings, const std::array<uint64_t, 2>& bytes) {
    if (bytes[1] != 0)
        return {{{bindings.k.address, bytes[0]}, {bindings.v.address, bytes[1]}}};
    const uint64_t half = bytes[0] / 32 * 16;
    return {{{bindings.k.address, half}, {bindings.k.address + half, bytes[0] - half}}};
}

// Records `calls` calls with a barrier after each and returns the seconds of one.
class Chain {
public:
    Chain(host::Device& device, GpuClock& clock, size_t sets, std::function<void(VkCommandBuffer, size_t)> record)
        : device_(device), clock_(clock), sets_(sets), record_(std::move(record)) {}

    ClockSample run(size_t calls) {
        ClockSample sample = clock_.submit([&](VkCommandBuffer commands) {
            for (size_t i = 0; i < calls; ++i) {
                next_ = (next_ + 1) % sets_;
                record_(commands, next_);
                recordComputeBarrier(device_, commands);
            }
        });
        sample.value /= static_cast<double>(calls);
        return sample;
    }
    size_t last() const noexcept { return next_; } // set that was used last

private:
    host::Device& device_;
    GpuClock& clock_;
    size_t sets_;
    size_t next_ = 0;
    std::function<void(VkCommandBuffer, size_t)> record_;
};

// One KV head of one sequence as a problem of its own. `head` counts the KV heads of all sequences.
VkfVerdict verifyHead(const VkfProblem& problem, const BenchMemory& memory, const host::HostTensors& outputs,
                      const VkfPlanInfo& plan, uint64_t head) {
    VkfProblem part = problem;
    part.batch = 1;
    part.kvHeads = 1;
    part.queryHeads = problem.queryHeads / problem.kvHeads;
    const bool paged = problem.paging.enabled != 0;
    const uint64_t sequence = head / problem.kvHeads;
    const uint64_t rows = head * part.queryHeads * problem.queryRows;
    const uint32_t valueDim = vkfTensorLayout(&problem, VKF_TENSOR_O).dim;
    // Of k or v what belongs to the head, in pages of all sequences.
    const auto ofHead = [&](VkfTensorRole role, VkfTensor& tensor) {
        const VkfTensorLayout layout = vkfTensorLayout(&problem, role);
        tensor = {layout.type, 0, layout.batchStride, layout.headStride, layout.rowStride};
        const uint64_t first = (paged ? 0 : sequence * layout.batchStride) + head % problem.kvHeads * layout.headStride;
        return memory.inputRange(role, first, vkfTensorLayout(&part, role).elements);
    };
    const std::vector<std::byte> q = memory.inputRange(VKF_TENSOR_Q, rows * problem.headDim,
                                                       uint64_t{part.queryHeads} * problem.queryRows * problem.headDim);
    const std::vector<std::byte> k = ofHead(VKF_TENSOR_K, part.k);
    const std::vector<std::byte> v = ofHead(VKF_TENSOR_V, part.v);
    host::HostTensors tensors;
    tensors.q = q.data();
    tensors.k = k.data();
    tensors.v = v.data();
    tensors.o = static_cast<std::byte*>(outputs.o) + vkfStoredBytes(problem.o.type, rows * valueDim);
    tensors.blockTable = paged ? outputs.blockTable + sequence * problem.paging.maxPages : nullptr;
    return verifyResult(part, tensors, plan);
}

VkfVerdict verifyHeads(const VkfProblem& problem, const BenchMemory& memory, const host::HostTensors& outputs,
                       const VkfPlanInfo& plan, uint32_t sampleHeads) {
    const uint64_t heads = uint64_t{problem.batch} * problem.kvHeads;
    const uint64_t samples = sampleHeads == 0 ? heads : std::min<uint64_t>(sampleHeads, heads);
    VkfVerdict worst{};
    for (uint64_t i = 0; i < samples; ++i) {
        // Evenly spread, the last one among them.
        const VkfVerdict verdict = verifyHead(problem, memory, outputs, plan, (i + 1) * heads / samples - 1);
        if (i == 0 || !verdict.passed || (worst.passed && verdict.oError > worst.oError))
            worst = verdict;
        if (!worst.passed)
            break;
    }
    return worst;
}

} // namespace

PlainRead::PlainRead(const host::Device& device)
    : shader_(device, toolShader("plain_read"), sizeof(shared::PlainReadParams)) {}

void PlainRead::record(VkCommandBuffer commands, const Range& first, const Range& second) const {
    shared::PlainReadParams params{};
    std::array<uint32_t, 2> workgroups{};
    for (size_t i = 0; i < workgroups.size(); ++i) {
        const Range& range = i == 0 ? first : second;
        params.array[i] = range.address;
        params.words[i] = static_cast<uint32_t>(range.bytes / 16);
        workgroups[i] = (params.words[i] + VKF_READ_WORKGROUP_WORDS - 1) / VKF_READ_WORKGROUP_WORDS;
    }
    params.workgroups = workgroups[0];
    shader_.record(commands, &params, workgroups[0] + workgroups[1]);
}

DecodeResult measureDecode(host::Device& device, GpuClock& clock, BenchMemory& memory, const PlainRead& plainRead,
                           const VkfProblem& problem, const DecodeMeasureOptions& options,
                           const std::function<void()>& afterRun) {
    const host::Plan plan(device, problem);
    memory.prepare(problem, plan.info().scratchBytes, mostSets);
    DecodeResult result;
    result.problem = problem;
    result.plan = plan.info();
    result.sets = memory.sets();
    const std::array<uint64_t, 2> bytes = readBytes(problem, options.valuesInKeys);
    result.cacheBytes = static_cast<double>(bytes[0] + bytes[1]);

    Chain calls(device, clock, memory.sets(), [&](VkCommandBuffer commands, size_t set) {
        const VkfBindings bindings = memory.bindings(set);
        VkfMessage message{};
        if (const VkfResult code = vkfCmdAttention(commands, plan.handle(), &bindings, &message); code != VKF_SUCCESS)
            throw host::Error(code, message.text);
    });
    Chain reads(device, clock, memory.sets(), [&](VkCommandBuffer commands, size_t set) {
        const std::array<PlainRead::Range, 2> ranges = readRanges(memory.bindings(set), bytes);
        plainRead.record(commands, ranges[0], ranges[1]);
    });

    calls.run(1);
    const double estimate = std::max(calls.run(4).value, 1e-9);
    result.calls = static_cast<size_t>(std::clamp(submissionSeconds / estimate, 1.0, double{mostCalls}));
    calls.run(result.calls);
    reads.run(result.calls);
    std::vector<ClockSample> callTimes;
    std::vector<ClockSample> readTimes;
    const auto enough = [&] {
        return enoughAtFullClock(callTimes, clock.highest()) && enoughAtFullClock(readTimes, clock.highest());
    };
    const TimeBudget budget(options.maxRuns, options.seconds);
    do {
        readTimes.push_back(reads.run(result.calls));
        callTimes.push_back(calls.run(result.calls));
        afterRun();
    } while (budget.allowsAnother(callTimes.size(), enough()));
    result.call = timingOf(callTimes, clock.highest());
    result.read = timingOf(readTimes, clock.highest());
    requireTime(result.call.median, device);
    // What was timed is what is checked.
    result.verdict =
        verifyHeads(problem, memory, memory.downloadOutputs(calls.last()), result.plan, options.sampleHeads);
    return result;
}

} // namespace vkf::tools
