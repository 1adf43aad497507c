// SPDX-License-Identifier: MIT
#include "device/chunked_memory.hpp"

namespace vkf::mpi {
namespace {

// Calls `copy` for each piece of the caller's tensor, in its order: chunk, sequence, group.
template <typename Copy> void eachPiece(const GroupLayout& groups, const std::vector<Range>& chunks, const Copy& copy) {
    for (const Range& chunk : chunks) {
        const uint64_t bytes = chunk.bytes / groups.batch;
        for (uint64_t sequence = 0; sequence < groups.batch; ++sequence) {
            for (uint32_t group = 0; group < groups.count; ++group) {
                copy(groups.of(group, {chunk.at + sequence * bytes, bytes}));
            }
        }
    }
}

} // namespace

void GroupLayout::upload(Staging& staging, const Memory& to, const std::vector<Range>& chunks, const void* from) const {
    const auto* next = static_cast<const std::byte*>(from);
    eachPiece(*this, chunks, [&](const Range& range) {
        staging.upload(to, range, next);
        next += range.bytes;
    });
}

void GroupLayout::download(Staging& staging, void* to, const Memory& from, const std::vector<Range>& chunks) const {
    auto* next = static_cast<std::byte*>(to);
    eachPiece(*this, chunks, [&](const Range& range) {
        staging.download(next, from, range);
        next += range.bytes;
    });
}

ChunkedMemory::ChunkedMemory(const Gpu& gpu, const VkfProblem& group, uint32_t groups, const std::vector<Chunk>& chunks,
                             uint32_t heads, uint32_t dim, VkfType type)
    : groups_{groups, tensorBatch(group)} {
    Layout layout;
    for (const Chunk& chunk : chunks) {
        chunks_.push_back(layout.add(chunkElements(group, chunk, heads, dim) * vkfTypeBytes(type)));
    }
    groups_.bytes = layout.bytes();
    memory_ = Memory(gpu, groups * layout.bytes(), Place::device);
}

} // namespace vkf::mpi
