// SPDX-License-Identifier: MIT
//
// The gradients of k and v that go round in the backward pass. In each step a rank adds what its rows give to the sums
// that come from the previous rank, and sends them on. From the last rank that sees the block they return to its owner.
#pragma once

#include <array>

#include "device/add_kernel.hpp"
#include "ring/blocks.hpp"

namespace vkf::mpi {

class RingGradients {
public:
    RingGradients(State& state, const VkfProblem& whole, const RingBlocks& blocks);

    // Where the gradients of a step are summed up in fp32, and how its chunks lie there. The moment says when the
    // memory is free.
    const Memory& sumOf(uint32_t step) const { return slots_[step % slots_.size()].sum; }
    Moment freeOf(uint32_t step) const { return slots_[step % slots_.size()].copied; }
    const BlockLayout& layoutOf(uint32_t owner) const { return layouts_[owner]; }

    void begin(Traffic& traffic);
    // Adds the sums of the previous rank to those of the step, after the kernels of the step were submitted.
    // Returns the seconds in which the device had nothing to do.
    double receive(Traffic& traffic, uint32_t step);
    // Takes the sums of the step to mapped memory, from which `send` sends them.
    void finish(Traffic& traffic, uint32_t step);
    void send(Traffic& traffic, uint32_t step);
    // Waits for the sums of the rank's own keys. They are on the device then, for commands that wait for the queue of
    // copies.
    void complete(Traffic& traffic);
    const Memory& own() const { return own_; }

private:
    struct Slot {
        Memory sum;     // on the device
        Memory out, in; // mapped
        Memory addend;  // on the device
        Moment copied;  // when `out` has the sums
        Moment added;   // until when kernels read `addend`
        Traffic::Ticket sent = 0;
    };
    Slot& slotOf(uint32_t step) { return slots_[step % slots_.size()]; }
    bool isHere(uint32_t step) const { return blocks_.schedule().hasBlock(step); }

    Gpu& gpu_;
    const RingBlocks& blocks_;
    std::vector<BlockLayout> layouts_; // by owner
    AddKernel add_;
    std::array<Slot, 2> slots_;
    Memory own_, ownOnHost_;
    Traffic::Ticket home_ = 0;
};

} // namespace vkf::mpi
