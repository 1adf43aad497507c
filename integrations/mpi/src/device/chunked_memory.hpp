// SPDX-License-Identifier: MIT
//
// Tensors of the part of a rank in device memory: for each group of heads, its chunks one after the other. In the
// caller's memory a chunk has all its heads together.
#pragma once

#include <vector>

#include "device/tensors.hpp"

namespace vkf::mpi {

// How the heads of a part lie in device memory.
struct GroupLayout {
    uint32_t count = 1;
    uint64_t batch = 1; // sequences of a dense tensor; each has a range of every group
    uint64_t bytes = 0; // of all chunks of a group

    // `range` lies in the chunks of one group.
    Range of(uint32_t group, const Range& range) const { return {group * bytes + range.at, range.bytes}; }
    // Copies chunks of all groups, whose ranges in a group these are. Null pointers fail, as in Staging.
    void upload(Staging& staging, const Memory& to, const std::vector<Range>& chunks, const void* from) const;
    void download(Staging& staging, void* to, const Memory& from, const std::vector<Range>& chunks) const;
};

// The chunks of one tensor.
class ChunkedMemory {
public:
    ChunkedMemory() = default;
    // `group` is the call of one of `groups` groups, which has `heads` heads.
    ChunkedMemory(const Gpu& gpu, const VkfProblem& group, uint32_t groups, const std::vector<Chunk>& chunks,
                  uint32_t heads, uint32_t dim, VkfType type);

    VkfBinding of(uint32_t group, size_t chunk) const { return groups_.of(group, chunks_[chunk]).of(memory_); }
    void upload(Staging& staging, const void* from) const { groups_.upload(staging, memory_, chunks_, from); }
    void download(Staging& staging, void* to) const { groups_.download(staging, to, memory_, chunks_); }

private:
    std::vector<Range> chunks_; // in the first group
    GroupLayout groups_;
    Memory memory_;
};

} // namespace vkf::mpi
