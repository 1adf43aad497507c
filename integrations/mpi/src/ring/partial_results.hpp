// SPDX-License-Identifier: MIT
//
// The rows of one chunk, for one group of heads after the other: partial results over blocks of keys, and their merge.
#pragma once

#include <algorithm>

#include "device/tensors.hpp"
#include "state.hpp"

namespace vkf::mpi {

// Partial results (p) go to slots of (o, lse) in fp32. Up to four have a slot each, so that their kernels may run at
// the same time, and are merged once. If more come, three are merged (M) into the fourth slot, and from there on two
// and M into the slot at the other end:
//
//     [p p p .]   [. . . M]   [. p p M]   [M . . .]   [M p p .]   [. . . M]   ...
//
// The order is that of the steps, so that equal calls give the same bits.
class PartialResults {
public:
    // `group` is the call of a group of heads, and `partials` is how many partial results come for each.
    PartialResults(State& state, Calls& calls, const VkfProblem& group, const Chunk& rows, uint32_t partials);

    // Whether `mergeSome` must come before the next partial result.
    bool isFull() const {
        return partials_ > slotCount() && filled_ == (merged_ == none ? mergedAtOnce : mergedAtOnce - 1);
    }
    // Where the next partial result goes: fp32, dense.
    VkfBinding nextO() const { return slots_.binding(oAt(nextSlot()), oBytes_); }
    VkfBinding nextLse() const { return slots_.binding(lseAt(nextSlot()), lseBytes_); }
    void add() { filled_++; }
    // Records the merge of all slots that are filled, behind a barrier of the caller.
    void mergeSome(VkCommandBuffer commands);
    // Records the last merge of a group: o and lse go to the bindings. Rows that see no key get o = 0 and lse =
    // -infinity.
    void mergeLast(VkCommandBuffer commands, const VkfBinding& o, const VkfBinding& lse);
    // Before the first partial result of a run.
    void restart();

private:
    static constexpr uint32_t none = UINT32_MAX;
    static constexpr uint32_t mostSlots = 4;
    static constexpr uint32_t mergedAtOnce = 3; // by mergeSome

    // Slot 0 has the lse of rows without partial results, too.
    uint32_t slotCount() const { return std::clamp(partials_, 1U, mostSlots); }
    uint64_t oAt(uint32_t slot) const { return slot * oStride_; }
    uint64_t lseAt(uint32_t slot) const { return slotCount() * oStride_ + slot * lseStride_; }
    // From M on, towards the other end.
    uint32_t nextSlot() const {
        return merged_ == mostSlots - 1 ? merged_ - 1 - filled_ : filled_ + (merged_ == 0 ? 1 : 0);
    }
    uint32_t firstSlot() const { return merged_ == mostSlots - 1 ? merged_ - filled_ : 0; }
    void merge(VkCommandBuffer commands, VkfMerge merge, uint32_t count, const VkfBinding& o,
               const VkfBinding& lse) const;

    State& state_;
    uint32_t partials_;
    uint64_t oBytes_, lseBytes_;   // of a partial result
    uint64_t oStride_, lseStride_; // from slot to slot
    uint32_t filled_ = 0;          // slots with partial results
    uint32_t merged_ = none;       // the slot of M
    Memory slots_;
    Merge some_; // three slots, in fp32
    Merge last_; // the slots that are filled in the end, in the type of o
};

} // namespace vkf::mpi
