// SPDX-License-Identifier: MIT
#include "ring/partial_results.hpp"

namespace vkf::mpi {
namespace {

constexpr uint32_t minusInfinity = 0xff800000;

uint64_t rounded(uint64_t bytes) { return (bytes + 255) / 256 * 256; }

} // namespace

PartialResults::PartialResults(State& state, Calls& calls, const VkfProblem& group, const Chunk& rows,
                               uint32_t partials)
    : state_(state), partials_(partials),
      oBytes_(chunkElements(group, rows, group.queryHeads, valueDimOf(group)) * sizeof(float)),
      lseBytes_(chunkElements(group, rows, group.queryHeads, 1) * sizeof(float)), oStride_(rounded(oBytes_)),
      lseStride_(rounded(lseBytes_)) {
    if (oBytes_ == 0) {
        return;
    }
    slots_ = Memory(*state_.gpu, slotCount() * (oStride_ + lseStride_), Place::device);
    auto problem = make<VkfMergeProblem>();
    problem.batch = static_cast<uint32_t>(tensorBatch(group));
    problem.heads = group.queryHeads;
    problem.rows = rows.rows;
    problem.dim = valueDimOf(group);
    problem.use = VKF_USE_LSE;
    problem.partialStride = oStride_ / sizeof(float);
    problem.lsePartialStride = lseStride_ / sizeof(float);
    problem.partials = mergedAtOnce;
    some_ = calls.makeMerge(problem);
    // More than four: mergeSome leaves M and two, or M and one.
    problem.partials = partials_ <= mostSlots ? slotCount() : mergedAtOnce - (partials_ % 2 == 1 ? 0 : 1);
    problem.o.type = group.o.type;
    last_ = calls.makeMerge(problem);
}

void PartialResults::merge(VkCommandBuffer commands, VkfMerge merge, uint32_t count, const VkfBinding& o,
                           const VkfBinding& lse) const {
    auto bindings = make<VkfMergeBindings>();
    bindings.partials = slots_.binding(oAt(firstSlot()), (count - 1) * oStride_ + oBytes_);
    bindings.partialLse = slots_.binding(lseAt(firstSlot()), (count - 1) * lseStride_ + lseBytes_);
    bindings.o = o;
    bindings.lse = lse;
    VkfMessage message{};
    check(vkfCmdMerge(commands, merge, &bindings, &message), message);
}

void PartialResults::mergeSome(VkCommandBuffer commands) {
    const uint32_t to = merged_ == mostSlots - 1 ? 0 : mostSlots - 1;
    merge(commands, some_.get(), mergedAtOnce, slots_.binding(oAt(to), oBytes_), slots_.binding(lseAt(to), lseBytes_));
    merged_ = to;
    filled_ = 0;
}

void PartialResults::mergeLast(VkCommandBuffer commands, const VkfBinding& o, const VkfBinding& lse) {
    if (oBytes_ == 0) {
        return;
    }
    if (partials_ == 0) {
        state_.gpu->fill(commands, slots_, lseAt(0), lseBytes_, minusInfinity);
        state_.gpu->barrier(commands);
        filled_ = 1;
    }
    merge(commands, last_.get(), filled_ + (merged_ == none ? 0 : 1), o, lse);
    restart();
}

void PartialResults::restart() {
    filled_ = 0;
    merged_ = none;
}

} // namespace vkf::mpi
