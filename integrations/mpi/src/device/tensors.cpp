// SPDX-License-Identifier: MIT
#include "device/tensors.hpp"

#include <algorithm>
#include <cstring>

namespace vkf::mpi {
namespace {

constexpr uint64_t rangeAlignment = 256;
constexpr uint64_t stagingBytes = uint64_t{32} << 20;

// Whether two pairs of one call have the same plan.
bool samePlan(const VkfProblem& a, const VkfProblem& b) {
    return a.queryRows == b.queryRows && a.keys == b.keys && a.use == b.use && a.alignment == b.alignment &&
           a.window.left == b.window.left && a.window.right == b.window.right && a.longestRows == b.longestRows &&
           a.longestKeys == b.longestKeys && a.positions.firstRow == b.positions.firstRow &&
           a.positions.firstKey == b.positions.firstKey;
}

void awaitLast(const Queue& queue) {
    constexpr uint64_t second = 1'000'000'000;
    while (!queue.wait(queue.last().value, second)) {
    }
}

} // namespace

Range Layout::add(uint64_t bytes) {
    const Range range{end_, bytes};
    end_ += (bytes + rangeAlignment - 1) / rangeAlignment * rangeAlignment;
    return range;
}

uint64_t tensorBatch(const VkfProblem& problem) { return has(problem, VKF_USE_CU_SEQLENS) ? 1 : problem.batch; }

uint64_t chunkElements(const VkfProblem& problem, const Chunk& chunk, uint32_t heads, uint32_t dim) {
    return tensorBatch(problem) * heads * chunk.rows * dim;
}

uint32_t valueDimOf(const VkfProblem& problem) { return problem.valueDim == 0 ? problem.headDim : problem.valueDim; }

BlockLayout::BlockLayout(const VkfProblem& whole, const Part& part)
    : BlockLayout(whole, part, whole.k.type, whole.v.type) {}

BlockLayout::BlockLayout(const VkfProblem& whole, const Part& part, VkfType kType, VkfType vType) {
    Layout layout;
    for (const Chunk& chunk : part.keys) {
        const uint64_t k = chunkElements(whole, chunk, whole.kvHeads, whole.headDim) * vkfTypeBytes(kType);
        const uint64_t v = chunkElements(whole, chunk, whole.kvHeads, valueDimOf(whole)) * vkfTypeBytes(vType);
        const Range kRange = layout.add(k);
        chunks.push_back({kRange, layout.add(v)});
    }
    bytes = layout.bytes();
}

void Staging::upload(const Memory& to, const Range& range, const void* from) {
    if (from == nullptr && range.bytes > 0) {
        throw host::Error(VKF_ERROR_INVALID_ARGUMENT, "an input that the call uses is null");
    }
    if (memory_.bytes() == 0) {
        memory_ = Memory(gpu_, stagingBytes, Place::host);
    }
    for (uint64_t done = 0; done < range.bytes; done += stagingBytes) {
        const uint64_t bytes = std::min(stagingBytes, range.bytes - done);
        std::memcpy(memory_.mapped(), static_cast<const std::byte*>(from) + done, bytes);
        gpu_.toDevice().submit(
            [&](VkCommandBuffer commands) { gpu_.copy(commands, memory_, 0, to, range.at + done, bytes); },
            {gpu_.kernels().last()});
        awaitLast(gpu_.toDevice());
    }
}

void Staging::download(void* to, const Memory& from, const Range& range) {
    if (to == nullptr) {
        return; // the caller does not want it
    }
    if (memory_.bytes() == 0) {
        memory_ = Memory(gpu_, stagingBytes, Place::host);
    }
    for (uint64_t done = 0; done < range.bytes; done += stagingBytes) {
        const uint64_t bytes = std::min(stagingBytes, range.bytes - done);
        gpu_.toHost().submit(
            [&](VkCommandBuffer commands) { gpu_.copy(commands, from, range.at + done, memory_, 0, bytes); },
            {gpu_.kernels().last(), gpu_.toDevice().last()});
        awaitLast(gpu_.toHost());
        std::memcpy(static_cast<std::byte*>(to) + done, memory_.mapped(), bytes);
    }
}

size_t Calls::addPlan(const VkfProblem& problem) {
    const auto same =
        std::find_if(plans_.begin(), plans_.end(), [&](const Made& made) { return samePlan(made.problem, problem); });
    if (same != plans_.end()) {
        return static_cast<size_t>(same - plans_.begin());
    }
    Made made;
    made.problem = problem;
    VkfMessage message{};
    check(vkfCreatePlan(gpu_.context(), &problem, made.plan.put(), &message), message);
    made.info = make<VkfPlanInfo>();
    check(vkfGetPlanInfo(made.plan.get(), &made.info, &message), message);
    needScratch(made.info.scratchBytes);
    plans_.push_back(std::move(made));
    return plans_.size() - 1;
}

size_t Calls::addBackward(const VkfBackwardProblem& problem) {
    const auto same = std::find_if(backwards_.begin(), backwards_.end(),
                                   [&](const MadeBackward& made) { return samePlan(made.problem, *problem.forward); });
    if (same != backwards_.end()) {
        return static_cast<size_t>(same - backwards_.begin());
    }
    MadeBackward made;
    made.problem = *problem.forward;
    VkfMessage message{};
    check(vkfCreateBackward(gpu_.context(), &problem, made.pass.put(), &message), message);
    made.info = make<VkfBackwardInfo>();
    check(vkfGetBackwardInfo(made.pass.get(), &made.info, &message), message);
    needScratch(made.info.scratchBytes);
    backwards_.push_back(std::move(made));
    return backwards_.size() - 1;
}

Merge Calls::makeMerge(const VkfMergeProblem& problem) const {
    Merge merge;
    VkfMessage message{};
    check(vkfCreateMerge(gpu_.context(), &problem, merge.put(), &message), message);
    return merge;
}

bool Calls::runBesideEachOther() const {
    return scratchBytes_ == 0 &&
           std::all_of(plans_.begin(), plans_.end(), [](const Made& made) { return made.info.stepCount <= 1; });
}

void Calls::allocateScratch() {
    if (scratchBytes_ > 0) {
        scratch_ = Memory(gpu_, scratchBytes_, Place::device);
    }
}

} // namespace vkf::mpi
