// SPDX-License-Identifier: MIT
#include "ring/row_sums.hpp"

#include <algorithm>

namespace vkf::mpi {
namespace {

constexpr uint32_t minusInfinity = 0xff800000;
constexpr uint32_t slotCount = 3;

uint64_t rounded(uint64_t bytes) { return (bytes + 255) / 256 * 256; }

} // namespace

RowSums::RowSums(State& state, Calls& calls, const VkfProblem& group, const Chunk& rows, uint32_t partials)
    : state_(state), partials_(partials) {
    oBytes_ = chunkElements(group, rows, group.queryHeads, valueDimOf(group)) * sizeof(float);
    lseBytes_ = chunkElements(group, rows, group.queryHeads, 1) * sizeof(float);
    oStride_ = rounded(oBytes_);
    lseStride_ = rounded(lseBytes_);
    if (oBytes_ == 0) {
        return;
    }
    slots_ = Memory(*state_.gpu, slotCount * (oStride_ + lseStride_), Place::device);
    auto problem = make<VkfMergeProblem>();
    problem.batch = static_cast<uint32_t>(tensorBatch(group));
    problem.heads = group.queryHeads;
    problem.rows = rows.rows;
    problem.dim = valueDimOf(group);
    problem.use = VKF_USE_LSE;
    problem.partialStride = oStride_ / sizeof(float);
    problem.lsePartialStride = lseStride_ / sizeof(float);
    problem.partials = 2;
    between_ = calls.makeMerge(problem);
    problem.o.type = group.o.type;
    ofLast_ = calls.makeMerge(problem);
    problem.partials = 1;
    ofOnly_ = calls.makeMerge(problem);
}

void RowSums::merge(VkCommandBuffer commands, VkfMerge merge, uint32_t firstSlot, uint32_t count, const VkfBinding& o,
                    const VkfBinding& lse) const {
    auto bindings = make<VkfMergeBindings>();
    bindings.partials = slots_.binding(oAt(firstSlot), (count - 1) * oStride_ + oBytes_);
    bindings.partialLse = slots_.binding(lseAt(firstSlot), (count - 1) * lseStride_ + lseBytes_);
    bindings.o = o;
    bindings.lse = lse;
    VkfMessage message{};
    check(vkfCmdMerge(commands, merge, &bindings, &message), message);
}

bool RowSums::record(VkCommandBuffer commands) {
    const bool isLast = done_ + 1 == partials_;
    if (isLast) {
        last_ = sum_;
        sum_ = otherSum();
        done_ = 0;
        return true;
    }
    if (done_ > 0) {
        const uint32_t to = otherSum();
        state_.gpu->barrier(commands);
        merge(commands, between_.get(), std::min(sum_, 1U), 2, slots_.binding(oAt(to), oBytes_),
              slots_.binding(lseAt(to), lseBytes_));
        sum_ = to;
    }
    done_++;
    return false;
}

void RowSums::recordLast(VkCommandBuffer commands, const VkfBinding& o, const VkfBinding& lse) const {
    if (partials_ == 1) {
        merge(commands, ofOnly_.get(), last_, 1, o, lse);
    } else {
        merge(commands, ofLast_.get(), std::min(last_, 1U), 2, o, lse);
    }
}

void RowSums::recordEmpty(VkCommandBuffer commands, const VkfBinding& o, const VkfBinding& lse) {
    if (oBytes_ == 0) {
        return;
    }
    state_.gpu->fill(commands, slots_, lseAt(0), lseBytes_, minusInfinity);
    state_.gpu->barrier(commands);
    merge(commands, ofOnly_.get(), 0, 1, o, lse);
}

} // namespace vkf::mpi
