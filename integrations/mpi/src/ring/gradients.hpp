// SPDX-License-Identifier: MIT
//
// The gradients of k and v that go round in the backward pass, of one group of heads after the other. A rank keeps what
// its own rows give to its own keys. In each later step it adds what its rows give to the sums that come from the
// previous rank, and sends them on; in the first of these steps there is nothing to add to. From the last rank that
// sees the block they return to its owner, which adds its own.
//
// In shared memory, a rank leaves its sums in its own window and sends a signal of one byte. The receiver copies them
// to its device and answers with another byte, after which the sender may write there again. Sums that return go into
// the window of their owner, where they have a place of their own, when the owner says that it is free.
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

    // Where the gradients of a round are summed up in fp32, and how its chunks lie there. The moment says when the
    // memory is free.
    const Memory& sumOf(const Round& round) const {
        return round.step == 0 ? own(round.group) : slots_[round.step % slots_.size()].sum;
    }
    Moment freeOf(const Round& round) const {
        return round.step == 0 ? Moment{} : slots_[round.step % slots_.size()].copied;
    }
    const BlockLayout& layoutOf(uint32_t owner) const { return layouts_[owner]; }

    // Begins a run.
    void begin();
    // Lets sums of a group come home, after `complete` has taken those of the group before.
    void expectHome(Traffic& traffic);
    // Adds the sums of the previous rank to those of the step, after the kernels of the step were submitted.
    // Returns the seconds in which the device had nothing to do.
    double receive(Traffic& traffic, uint32_t step);
    // Takes the sums of the step to mapped memory, from which `send` sends them.
    void finish(Traffic& traffic, uint32_t step);
    void send(Traffic& traffic, uint32_t step);
    // Waits for the sums of the rank's own keys, and adds them to what its own rows gave. The caller converts
    // own(group) before the kernels of group + 2 run, because these write to the same memory.
    void complete(Traffic& traffic, uint32_t group);
    const Memory& own(uint32_t group) const { return own_[group % own_.size()]; }

private:
    struct Slot {
        Memory sum;                   // on the device
        Memory out, in;               // mapped
        Memory addend;                // on the device, of the rank before
        Moment copied;                // when `out` has the sums
        Moment added;                 // until when kernels read `addend`
        Traffic::Ticket sent = 0;     // until when others read `out`
        std::byte signal{}, answer{}; // what other ranks send
    };
    Slot& slotOf(uint32_t step) { return slots_[step % slots_.size()]; }
    // Where sums lie in a window: those of a step, and those that have come home.
    uint64_t windowAt(uint32_t step) const { return step % slots_.size() * most_; }
    uint64_t homeAt() const { return goesFar() ? slots_.size() * most_ : 0; }
    // Whether sums go on from rank to rank before they return.
    bool goesFar() const { return blocks_.schedule().ranks > 2; }
    double receiveShared(Traffic& traffic, uint32_t step);
    void add(uint32_t step, const Moment& arrived);
    bool isHere(uint32_t step) const { return step > 0 && blocks_.schedule().hasBlock(step); }

    State& state_;
    Gpu& gpu_;
    const RingBlocks& blocks_;
    std::vector<BlockLayout> layouts_; // by owner
    AddKernel add_;
    std::array<Slot, 2> slots_;
    std::array<Memory, 2> own_; // of two groups: one is computed while sums of the other come home
    Memory home_, homeOnHost_;  // the sums that come home
    Moment homeArrived_;        // until when copies read their place on the host
    Moment homeAdded_;          // until when kernels read them on the device
    Traffic::Ticket homeMessage_ = 0;
    uint64_t most_ = 0; // bytes of the sums of the largest block
    NodeWindow window_; // of each rank: two sums that go on, and one that has come home
    bool isShared_ = false;
    std::byte homeSignal_{};
    std::byte one_{1}; // what this rank sends
};

} // namespace vkf::mpi
