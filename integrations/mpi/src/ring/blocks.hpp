// SPDX-License-Identifier: MIT
//
// The blocks of k and v that go round, forward and backward, one group of heads after the other. In each round a rank
// has one block on its device, while the next one arrives: from the previous rank into mapped memory and from there to
// the device, or straight from shared memory of the rank that owns it.
#pragma once

#include <array>

#include "device/chunked_memory.hpp"
#include "ranks/node_window.hpp"
#include "ranks/traffic.hpp"
#include "split/schedule.hpp"
#include "state.hpp"

namespace vkf::mpi {

// One step of the ring of one group of heads.
struct Round {
    uint32_t group = 0;
    uint32_t step = 0;
};

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
    // `group` is the call of one of `groups` groups of heads.
    RingBlocks(State& state, const VkfProblem& group, uint32_t groups, Distribution distribution,
               const Lengths& lengths);
    // Makes the memory in which blocks travel: shared memory of the node, where it can be, else mapped memory of this
    // rank and messages. Collective.
    void connect(Transport transport);

    // "ring of 4 ranks by shared memory, 8 groups of heads", for descriptions.
    std::string text() const;
    const Schedule& schedule() const { return schedule_; } // of each group
    uint32_t groups() const { return groups_.count; }
    std::vector<Round> rounds() const;
    const std::vector<Chunk>& ownRows() const { return schedule_.parts[schedule_.rank].rows; }
    // Whether blocks travel through shared memory.
    bool isShared() const { return isShared_; }
    int next() const { return static_cast<int>((schedule_.rank + 1) % schedule_.ranks); }
    int previous() const { return static_cast<int>((schedule_.rank + schedule_.ranks - 1) % schedule_.ranks); }

    void upload(Staging& staging, const void* k, const void* v) const;
    // Slopes of ALiBi, with VKF_USE_ALIBI_SLOPES.
    void uploadSlopes(Staging& staging, const float* slopes) const;
    // Binds k, v and the arrays of a pair, which is a number in the pairs of the step.
    void bind(const Round& round, size_t pair, VkfBindings& bindings) const;

    // Begins a run: the own blocks set out, and the first ones of other ranks. Kernels of the first round may run
    // meanwhile.
    void begin(Traffic& traffic);
    // Waits until all copies of the block of a round are submitted. Returns the seconds after `busy` had passed, in
    // which the device had nothing to do.
    double await(Traffic& traffic, const Round& round, const Moment& busy);
    // When the block of a round is on the device, which is known after `await`.
    Moment arrivalOf(const Round& round) const;
    // Kernels read the block of the round until `read`. Sends it on, and lets the block after the next one take its
    // place.
    void release(Traffic& traffic, const Round& round, const Moment& read);

private:
    // A place for a block that travels.
    struct Slot {
        Memory onHost; // without shared memory
        Memory onDevice;
        Moment read;                 // until when kernels read onDevice
        Moment arrived;              // when the last copy to onDevice has passed
        uint64_t missing = 0;        // bytes that are not on their way to onDevice
        Traffic::Ticket message = 0; // the last one that MPI writes to onHost or reads from it
        std::byte signal{};          // what the owner sends for each piece in shared memory
    };

    bool comesHere(uint32_t step) const { return step > 0 && schedule_.hasBlock(step); }
    // Blocks of other ranks are numbered in the order of their rounds. Two are here at a time: the one that kernels
    // read, and the one that arrives.
    size_t numberOf(const Round& round) const;
    Slot& slotOf(const Round& round) { return slots_[numberOf(round) % slots_.size()]; }
    const Slot& slotOf(const Round& round) const { return slots_[numberOf(round) % slots_.size()]; }
    void placeBlocks(const VkfProblem& group);
    void placeArrays(const VkfProblem& group, const Lengths& lengths);
    uint64_t bytesOf(uint32_t step) const { return layouts_[schedule_.ownerOf(step)].bytes; }

    void sendOwn(Traffic& traffic, uint32_t group);
    void publishPiece(Traffic& traffic, uint64_t piece);
    void receive(Traffic& traffic, size_t number);
    void receivePiece(Traffic& traffic, const Round& round, uint64_t offset);
    void receiveMessage(Traffic& traffic, const Round& round);
    void copyToDevice(const Round& round, const Memory& from, uint64_t fromOffset, uint64_t offset, uint64_t bytes);

    State& state_;
    Gpu& gpu_;
    Schedule schedule_;
    GroupLayout groups_;               // of the own block
    std::vector<BlockLayout> layouts_; // of a group, by owner
    std::vector<uint32_t> arriving_;   // the steps of a group whose blocks come from other ranks
    Memory block_, arrays_;
    std::vector<Range> rowOffsets_;              // by chunk of rows
    std::vector<std::vector<Range>> keyOffsets_; // by owner and chunk of keys
    std::vector<std::vector<Range>> keyLengths_; // by owner and chunk of keys
    std::vector<std::vector<Range>> positions_;  // by step and pair
    Range slopes_;                               // of all groups
    std::array<Slot, 2> slots_;
    std::array<Memory, 2> ownOnHost_; // without shared memory: blocks of this rank, of two groups
    NodeWindow window_;               // with the blocks of all groups of each rank
    bool isShared_ = false;
    std::byte one_{1}; // what this rank sends for each piece
};

} // namespace vkf::mpi
