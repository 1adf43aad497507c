// SPDX-License-Identifier: MIT
#include "bench/decode_measure.hpp"

#include <algorithm>
#include <array>

#include "cli/verdict.hpp"
#include "measure/call_chain.hpp"
#include "measure/plain_read_params.h"
#include "measure/problem_measure.hpp"
#include "vkflash/vkflash.hpp"

namespace vkf::tools {

namespace {

// Bytes of k and of v that one call reads.
std::array<uint64_t, 2> readBytes(const VkfProblem& problem, bool valuesInKeys) {
    const uint64_t rows = uint64_t{problem.batch} * problem.kvHeads * problem.keys;
    const uint32_t valueDim = vkf::layoutOf(problem, VKF_TENSOR_V).dim;
    return {vkfStoredBytes(problem.k.type, rows * problem.headDim),
            valuesInKeys ? 0 : vkfStoredBytes(problem.v.type, rows * valueDim)};
}

// The two ranges that the plain read reads: k and v, or the two halves of k if v is a view of k.
std::array<PlainRead::Range, 2> readRanges(const VkfBindings& bindings, const std::array<uint64_t, 2>& bytes) {
    if (bytes[1] != 0)
        return {{{bindings.k.address, bytes[0]}, {bindings.v.address, bytes[1]}}};
    const uint64_t half = bytes[0] / 32 * 16;
    return {{{bindings.k.address, half}, {bindings.k.address + half, bytes[0] - half}}};
}

// Verifies one KV head of one sequence as a problem of its own. `head` counts the KV heads of all sequences.
VkfVerdict verifyHead(const VkfProblem& problem, const BenchMemory& memory, const host::HostTensors& outputs,
                      const VkfPlanInfo& plan, uint64_t head) {
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
        // The samples are spread evenly, and the last head is one of them.
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
    memory.prepare(problem, plan.info().scratchBytes, mostChainSets);
    DecodeResult result;
    result.problem = problem;
    result.plan = plan.info();
    result.sets = memory.sets();
    const std::array<uint64_t, 2> bytes = readBytes(problem, options.valuesInKeys);
    result.cacheBytes = static_cast<double>(bytes[0] + bytes[1]);

    CallChain calls(device, clock, memory.sets(), [&](VkCommandBuffer commands, size_t set) {
        recordAttention(commands, plan.handle(), memory.bindings(set));
    });
    CallChain reads(device, clock, memory.sets(), [&](VkCommandBuffer commands, size_t set) {
        const std::array<PlainRead::Range, 2> ranges = readRanges(memory.bindings(set), bytes);
        plainRead.record(commands, ranges[0], ranges[1]);
    });
    result.calls = calls.callsOfSubmission();
    const std::array<std::function<ClockSample()>, 2> runs = {[&] { return reads.run(result.calls); },
                                                              [&] {
                                                                  const ClockSample sample = calls.run(result.calls);
                                                                  afterRun();
                                                                  return sample;
                                                              }};
    const std::vector<Timing> timings =
        measureInTurn(runs, {.warmUps = 1, .maxRuns = options.maxRuns, .seconds = options.seconds}, clock.highest());
    result.read = timings[0];
    result.call = timings[1];
    requireTime(result.call.median, device);
    // Checks the set of the last timed call, so the check is about what was timed.
    result.verdict =
        verifyHeads(problem, memory, memory.downloadOutputs(calls.last()), result.plan, options.sampleHeads);
    return result;
}

} // namespace vkf::tools
