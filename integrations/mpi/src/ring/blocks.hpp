// SPDX-License-Identifier: MIT
//
// The blocks of k and v that go round, forward and backward. In each step a rank has one block on its device, while the
// block of the next step arrives: from the previous rank into mapped memory, and from there to the device.
#pragma once

#include <array>

#include "device/tensors.hpp"
#include "ranks/node_window.hpp"
#include "ranks/traffic.hpp"
#include "split/schedule.hpp"
#include "state.hpp"

namespace vkf::mpi {

// The first plan of a rank, by step and pair; null if the rank has nothing to compute.
inline const size_t* firstPlanOf(const std::vector<std::vector<size_t>>& plans) {
    for (const std::vector<size_t>& step : plans) {
        if (!step.empty()) {
            return &step.front();
        }
    }
    return nullptr;
}

class RingBlocks {
public:
    RingBlocks(State& state, const VkfProblem& whole, Distribution distribution, const Lengths& lengths);
    // Makes the memory in which blocks travel: shared memory of the node, where it can be, else mapped memory of this
    // rank and messages. Collective.
    void connect(Transport transport);

    // "ring of 4 ranks by shared memory", for descriptions.
    std::string text() const;
    const Schedule& schedule() const { return schedule_; }
    const std::vector<Chunk>& ownRows() const { return schedule_.parts[schedule_.rank].rows; }
    const BlockLayout& layoutOf(uint32_t owner) const { return layouts_[owner]; }
    // Whether blocks travel through shared memory.
    bool isShared() const { return isShared_; }
    int next() const { return static_cast<int>((schedule_.rank + 1) % schedule_.ranks); }
    int previous() const { return static_cast<int>((schedule_.rank + schedule_.ranks - 1) % schedule_.ranks); }

    void upload(Staging& staging, const void* k, const void* v);
    // Binds k, v and the arrays of a pair, which is a number in the pairs of the step.
    void bind(uint32_t step, size_t pair, VkfBindings& bindings) const;
    // Slopes of ALiBi, with VKF_USE_ALIBI_SLOPES.
    void uploadSlopes(Staging& staging, const float* slopes);
    // When the block of a step is on the device.
    Moment arrivalOf(uint32_t step) const;

    // Begins a run: takes the own block to mapped memory if it travels. Kernels of step 0 may run meanwhile. Returns
    // the seconds in which the device had nothing to do.
    double begin(Traffic& traffic);
    // Sends the block of a step on. Kernels of the step may run meanwhile.
    void send(Traffic& traffic, uint32_t step);
    // Kernels up to now read the block of the step.
    void markRead(uint32_t step);
    // Begins to bring the block of a step, if it comes here.
    void receive(Traffic& traffic, uint32_t step);
    // Waits for that block. Returns the seconds in which the device had nothing to do.
    double await(Traffic& traffic, uint32_t step) const;

private:
    // A place for a block that travels.
    struct Slot {
        Memory onHost;
        Memory onDevice;
        Moment read;                 // until when kernels read onDevice
        Moment arrived;              // when onDevice is complete
        Traffic::Ticket message = 0; // the last one that MPI writes to onHost or reads from it
    };

    // Two steps are here at a time: the one that kernels read, and the one that arrives.
    Slot& slotOf(uint32_t step) { return slots_[step % slots_.size()]; }
    const Slot& slotOf(uint32_t step) const { return slots_[step % slots_.size()]; }
    bool comesHere(uint32_t step) const { return step < schedule_.ranks && schedule_.hasBlock(step); }
    void placeBlocks(const VkfProblem& whole);
    void receiveShared(Traffic& traffic, uint32_t step);
    void placeArrays(const VkfProblem& whole, const Lengths& lengths);

    State& state_;
    Gpu& gpu_;
    Schedule schedule_;
    std::vector<BlockLayout> layouts_; // by owner
    Memory block_, arrays_;
    std::vector<Range> rowOffsets_;              // by chunk of rows
    std::vector<std::vector<Range>> keyOffsets_; // by owner and chunk of keys
    std::vector<std::vector<Range>> keyLengths_; // by owner and chunk of keys
    std::vector<std::vector<Range>> positions_;  // by step and pair
    Range slopes_;
    std::array<Slot, 2> slots_;
    uint64_t most_ = 0; // bytes of the largest block
    NodeWindow window_; // with the block of each rank
    bool isShared_ = false;
};

} // namespace vkf::mpi
