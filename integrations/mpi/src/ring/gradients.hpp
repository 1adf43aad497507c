// SPDX-License-Identifier: MIT
//
// The gradients of k and v that go round in the backward pass, of one group of heads after the other. In each step a
// rank adds what its rows give to the sums that come from the previous rank, and sends them on. From the last rank that
// sees the block they return to its owner.
//
// In shared memory, a rank leaves its sums in its own window and sends a signal of one byte. The receiver copies them
// to its device and answers with another byte, after which the sender may write there again. Sums that return go into
// the window of their owner, where they have a place of their own.
#pragma once

#include <array>

#include "device/add_kernel.hpp"
#include "ring/blocks.hpp"

namespace vkf::mpi {

class RingGradients {
public:
    RingGradients(State& state, const VkfProblem& whole, const RingBlocks& blocks);

    // Makes the memory in which sums travel, as RingBlocks::connect. Collective.
    void connect();

    // Where the gradients of a step are summed up in fp32, and how its chunks lie there. The moment says when the
    // memory is free.
    const Memory& sumOf(uint32_t step) const { return slots_[step % slots_.size()].sum; }
    Moment freeOf(uint32_t step) const { return slots_[step % slots_.size()].copied; }
    const BlockLayout& layoutOf(uint32_t owner) const { return layouts_[owner]; }

    // Begins a run.
    void begin();
    // Before the first sums of a group come home, and after those of the group before were taken by `complete`.
    void expectHome(Traffic& traffic);
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
        Memory sum;                   // on the device
        Memory out, in;               // mapped
        Memory addend;                // on the device
        Moment copied;                // when `out` has the sums
        Moment added;                 // until when kernels read `addend`
        Traffic::Ticket sent = 0;     // until when others read `out`
        std::byte signal{}, answer{}; // what other ranks send
    };
    Slot& slotOf(uint32_t step) { return slots_[step % slots_.size()]; }
    // Where sums lie in a window: those of a step, and those that have come home.
    uint64_t windowAt(uint32_t step) const { return step % slots_.size() * most_; }
    uint64_t homeAt() const { return slots_.size() * most_; }
    double receiveShared(Traffic& traffic, uint32_t step);
    void add(uint32_t step, const Moment& arrived);
    bool isHere(uint32_t step) const { return blocks_.schedule().hasBlock(step); }

    State& state_;
    Gpu& gpu_;
    const RingBlocks& blocks_;
    std::vector<BlockLayout> layouts_; // by owner
    AddKernel add_;
    std::array<Slot, 2> slots_;
    Memory own_, ownOnHost_;
    Traffic::Ticket home_ = 0;
    uint64_t most_ = 0; // bytes of the sums of the largest block
    NodeWindow window_; // of each rank: two sums that go on, and one that has come home
    bool isShared_ = false;
    std::byte homeSignal_{};
    std::byte one_{1}; // what this rank sends
};

} // namespace vkf::mpi
