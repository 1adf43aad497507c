// SPDX-License-Identifier: MIT
//
// The two exchanges of head exchange: from all heads of a rank's rows to some heads of the whole sequence, and back.
//
// On one node each device writes its tensors to a shared window and reads what it needs from the windows of the others.
// Elsewhere the processors pack messages.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "device/tensors.hpp"
#include "ranks/node_window.hpp"
#include "ranks/traffic.hpp"
#include "split/schedule.hpp"
#include "state.hpp"

namespace vkf::mpi {

enum class Along { rows, keys };

// A tensor of the call, as both exchanges see it.
struct MovedTensor {
    Along along = Along::rows;
    uint32_t heads = 0; // all heads
    uint64_t rowBytes = 0;
};

inline MovedTensor movedRows(const VkfProblem& whole, uint32_t dim, VkfType type) {
    return {Along::rows, whole.queryHeads, dim * vkfTypeBytes(type)};
}

inline MovedTensor movedKeys(const VkfProblem& whole, uint32_t dim, VkfType type) {
    return {Along::keys, whole.kvHeads, dim * vkfTypeBytes(type)};
}

struct MovedMemory;

class ExchangeMoves {
public:
    ExchangeMoves(State& state, const VkfProblem& whole, Distribution distribution, const Lengths& lengths);

    // Bytes of the part of this rank: its chunks one after the other, without gaps.
    uint64_t partBytes(const MovedTensor& tensor) const { return bytesOf(tensor, rank_) * ranks_; }
    // Bytes of this rank's heads of the whole sequence: dense [batch, heads / ranks, rows, dim].
    uint64_t headsBytes(const MovedTensor& tensor) const;

    // Makes the shared windows, if ranks, device and transport allow it. Collective.
    void connect(Transport transport, std::initializer_list<const MovedMemory*> inputs,
                 std::initializer_list<const MovedMemory*> outputs);
    // "head exchange of 4 ranks by shared memory", for descriptions.
    std::string text() const;

    // A run: brings the inputs to the heads, computes with so many submissions, and brings the outputs back.
    RunReport run(std::initializer_list<const MovedMemory*> inputs, const std::function<void()>& compute,
                  uint64_t submissions, std::initializer_list<const MovedMemory*> outputs, const Progress& progress);

private:
    using Moved = std::initializer_list<const MovedMemory*>;

    // All tensors through the windows. Both return when the commands that read the windows are submitted.
    void shareParts(Traffic& traffic, Moved inputs);
    void shareHeads(Traffic& traffic, Moved outputs);
    // Copies between the rows of a rank in a window and this rank's heads, or the other way round.
    std::vector<VkBufferCopy> regionsOf(const MovedTensor& tensor, uint32_t partRank, uint32_t headRank,
                                        uint64_t partAt, uint64_t headsAt, bool toHeads) const;
    void copyRegions(const Memory& from, const Memory& to, const std::vector<VkBufferCopy>& regions);
    uint64_t partBytesOf(const MovedTensor& tensor, uint32_t rank) const { return bytesOf(tensor, rank) * ranks_; }

    // Both wait until the tensor has arrived on the device.
    void toHeads(Traffic& traffic, const MovedTensor& tensor, const Memory& part, const Memory& heads);
    void toParts(Traffic& traffic, const MovedTensor& tensor, const Memory& heads, const Memory& part);

    using Buffers = std::vector<std::vector<std::byte>>; // by rank

    const std::vector<Chunk>& chunksOf(const MovedTensor& tensor, uint32_t rank) const;
    uint64_t bytesOf(const MovedTensor& tensor, uint32_t rank) const;
    void copyRows(const MovedTensor& tensor, uint32_t rank, std::byte* heads, std::byte* packed, bool pack) const;
    void exchange(Traffic& traffic);
    std::byte* fetch(Traffic& traffic, const Memory& from, uint64_t bytes);
    void deliver(Traffic& traffic, const Memory& to, uint64_t bytes);
    void needStaging(uint64_t bytes);

    State& state_;
    Gpu& gpu_;
    uint32_t ranks_;
    uint32_t rank_;
    uint64_t batch_;
    uint32_t queryRows_;
    uint32_t keys_;
    std::vector<Part> parts_;
    Memory staging_;   // mapped
    Buffers out_, in_; // of messages; kept, because fresh memory costs more than the copy
    NodeWindow window_;
    bool isShared_ = false;
};

// A tensor in both forms.
struct MovedMemory {
    MovedMemory(Gpu& gpu, const ExchangeMoves& moves, const MovedTensor& movedTensor)
        : tensor(movedTensor), part(gpu, moves.partBytes(tensor), Place::device),
          heads(gpu, moves.headsBytes(tensor), Place::device) {}

    Range all() const { return {0, part.bytes()}; }
    VkfBinding ofHeads() const { return heads.binding(0, heads.bytes()); }

    MovedTensor tensor;
    Memory part;
    Memory heads;
};

} // namespace vkf::mpi
