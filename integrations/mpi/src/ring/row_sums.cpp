// SPDX-License-Identifier: MIT
#include "ring/row_sums.hpp"

namespace vkf::mpi {
namespace {

constexpr uint32_t minusInfinity = 0xff800000;
constexpr uint32_t slotCount = 3;

uint64_t rounded(uint64_t bytes) { return (bytes + 255) / 256 * 256; }

} // namespace

RowSums::RowSums(State& state, Calls& calls, const VkfProblem& whole, const Chunk& rows, uint32_t partials)
    : state_(state), partials_(partials) {
    oBytes_ = chunkElements(whole, rows, whole.queryHeads, valueDimOf(whole)) * sizeof(float);
    lseBytes_ = chunkElements(whole, rows, whole.queryHeads, 1) * sizeof(float);
    oStride_ = rounded(oBytes_);
    lseStride_ = rounded(lseBytes_);
    if (oBytes_ == 0) {
        return;
    }
    slots_ = Memory(*state_.gpu, slotCount * (oStride_ + lseStride_), Place::device);
    auto problem = make<VkfMergeProblem>();
    problem.batch = static_cast<uint32_t>(tensorBatch(whole));
    problem.heads = whole.queryHeads;
    problem.rows = rows.rows;
    problem.dim = valueDimOf(whole);
    problem.use = VKF_USE_LSE;
    problem.partialStride = oStride_ / sizeof(float);
    problem.lsePartialStride = lseStride_ / sizeof(float);
    problem.partials = 2;
    between_ = calls.makeMerge(problem);
    problem.o.type = whole.o.type;
    last_ = calls.makeMerge(problem);
    problem.partials = 1;
    only_ = calls.makeMerge(problem);
}

void RowSums::merge(VkCommandBuffer commands, VkfMerge merge, uint32_t firstSlot, uint32_t count, const VkfBinding& o,
                    const VkfBinding& lse) const {
    auto bindings = make<VkfMergeBindings>();
    bindings.partials = slots_.binding(oAt(firstSlot), (count - 1) * oStride_ + oBytes_);
    bindings.partialLse = slots_.binding(lseAt(firstSlot), (count - 1) * lseStride_ + lseBytes_);
    bindings.o = o;
    bindings.lse = lse;
    VkfMessage message{};
    state_.gpu->barrier(commands);
    check(vkfCmdMerge(commands, merge, &bindings, &message), message);
}

void RowSums::record(VkCommandBuffer commands, const VkfBinding& o, const VkfBinding& lse) {
    const bool isLast = done_ + 1 == partials_;
    if (done_ == 0) {
        if (isLast) {
            merge(commands, only_.get(), 0, 1, o, lse);
        }
    } else {
        const uint32_t first = sumSlot() == 0 ? 0 : 1;
        const uint32_t to = sumSlot() == 0 ? 2 : 0;
        if (isLast) {
            merge(commands, last_.get(), first, 2, o, lse);
        } else {
            merge(commands, between_.get(), first, 2, slots_.binding(oAt(to), oBytes_),
                  slots_.binding(lseAt(to), lseBytes_));
        }
    }
    done_++;
}

void RowSums::recordEmpty(VkCommandBuffer commands, const VkfBinding& o, const VkfBinding& lse) {
    if (oBytes_ == 0) {
        return;
    }
    state_.gpu->fill(commands, slots_, lseAt(0), lseBytes_, minusInfinity);
    merge(commands, only_.get(), 0, 1, o, lse);
}

} // namespace vkf::mpi
