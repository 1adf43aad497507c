// SPDX-License-Identifier: MIT
//
// The rows of one chunk, for one group of heads after the other: partial results over blocks of keys, merged one after
// the other in fp32.
#pragma once

#include "device/tensors.hpp"
#include "state.hpp"

namespace vkf::mpi {

// Three slots of (o, lse) take turns: two hold what is merged, the third gets the result, or the first partial result
// of the next group. The order of the partial results is that of the steps, so that equal calls give the same bits.
class RowSums {
public:
    // `group` is the call of a group of heads, and `partials` is how many partial results come for each.
    RowSums(State& state, Calls& calls, const VkfProblem& group, const Chunk& rows, uint32_t partials);

    // Where the next partial result goes: fp32, dense.
    VkfBinding nextO() const { return slots_.binding(oAt(nextSlot()), oBytes_); }
    VkfBinding nextLse() const { return slots_.binding(lseAt(nextSlot()), lseBytes_); }
    // Records the merge of the next partial result with those before. Returns true for the last one, after which
    // `recordLast` must follow, before another partial result is merged.
    bool record(VkCommandBuffer commands);
    // Records the last merge of a group: o and lse go to the bindings. Kernels may write the first partial result of
    // the next group at the same time.
    void recordLast(VkCommandBuffer commands, const VkfBinding& o, const VkfBinding& lse) const;
    // For rows that see no key: records o = 0 and lse = -infinity.
    void recordEmpty(VkCommandBuffer commands, const VkfBinding& o, const VkfBinding& lse);
    // Before the first partial result of a run.
    void restart() { done_ = 0; }
    uint32_t partials() const { return partials_; }

private:
    uint64_t oAt(uint32_t slot) const { return slot * oStride_; }
    uint64_t lseAt(uint32_t slot) const { return 3 * oStride_ + slot * lseStride_; }
    // The sum is in slot 0 or 2, partial results in slot 1, so that a merge reads neighbours.
    uint32_t otherSum() const { return 2 - sum_; }
    uint32_t nextSlot() const { return done_ == 0 ? sum_ : 1; }
    void merge(VkCommandBuffer commands, VkfMerge merge, uint32_t firstSlot, uint32_t count, const VkfBinding& o,
               const VkfBinding& lse) const;

    State& state_;
    uint32_t partials_;
    uint32_t done_ = 0; // partial results of this group
    uint32_t sum_ = 0;  // slot of their sum
    uint32_t last_ = 0; // slot of the sum that the last merge of a group reads
    uint64_t oBytes_ = 0;
    uint64_t lseBytes_ = 0;
    uint64_t oStride_ = 0;
    uint64_t lseStride_ = 0;
    Memory slots_;
    Merge between_; // two partial results in fp32
    Merge ofLast_;  // two partial results, in the type of o
    Merge ofOnly_;  // one partial result, in the type of o
};

} // namespace vkf::mpi
