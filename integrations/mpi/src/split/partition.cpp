// SPDX-License-Identifier: MIT
#include "split/partition.hpp"

namespace vkf::mpi {
namespace {

SequenceRange cut(uint32_t rows, uint32_t begin, uint32_t chunks, uint32_t number) {
    const auto at = [&](uint64_t i) { return static_cast<uint32_t>(rows * i / chunks); };
    const uint32_t first = at(number);
    return {first, at(uint64_t{number} + 1) - first, begin + first};
}

} // namespace

uint32_t chunkCount(Distribution distribution, uint32_t ranks) {
    return distribution == Distribution::zigzag ? 2 * ranks : ranks;
}

std::vector<uint32_t> chunksOf(Distribution distribution, uint32_t ranks, uint32_t rank) {
    if (distribution == Distribution::zigzag) {
        return {rank, 2 * ranks - 1 - rank};
    }
    return {rank};
}

Chunk cutChunk(uint32_t rows, Offsets packed, uint32_t chunks, uint32_t number) {
    Chunk chunk;
    if (packed.empty()) {
        chunk.ranges.push_back(cut(rows, 0, chunks, number));
    }
    for (size_t i = 1; i < packed.size(); ++i) {
        chunk.ranges.push_back(cut(static_cast<uint32_t>(packed[i] - packed[i - 1]),
                                   static_cast<uint32_t>(packed[i - 1]), chunks, number));
    }
    for (const SequenceRange& range : chunk.ranges) {
        chunk.rows += range.count;
    }
    return chunk;
}

Part partOf(const VkfProblem& problem, Distribution distribution, const Lengths& lengths, uint32_t ranks,
            uint32_t rank) {
    Offsets rows;
    Offsets keys;
    if (has(problem, VKF_USE_CU_SEQLENS)) {
        if (lengths.cuSeqlensQ == nullptr || lengths.cuSeqlensK == nullptr) {
            throw host::Error(VKF_ERROR_INVALID_ARGUMENT, "cuSeqlensQ and cuSeqlensK must not be null");
        }
        VkfMessage message{};
        if (const VkfResult result = vkfCheckSequences(&problem, lengths.cuSeqlensQ, lengths.cuSeqlensK, &message);
            result != VKF_SUCCESS) {
            throw host::Error(result, message.text);
        }
        rows = {lengths.cuSeqlensQ, problem.batch + size_t{1}};
        keys = {lengths.cuSeqlensK, problem.batch + size_t{1}};
    }
    if (has(problem, VKF_USE_KEY_LENGTHS) && lengths.keyLengths == nullptr) {
        throw host::Error(VKF_ERROR_INVALID_ARGUMENT, "keyLengths must not be null");
    }
    const uint32_t chunks = chunkCount(distribution, ranks);
    Part part;
    for (const uint32_t number : chunksOf(distribution, ranks, rank)) {
        part.rows.push_back(cutChunk(problem.queryRows, rows, chunks, number));
        part.keys.push_back(cutChunk(problem.keys, keys, chunks, number));
    }
    return part;
}

std::vector<RowRun> runsOf(const std::vector<Chunk>& chunks, uint64_t batch, uint64_t heads, uint64_t rows) {
    std::vector<RowRun> runs;
    for (const Chunk& chunk : chunks) {
        for (uint64_t head = 0; head < batch * heads; ++head) {
            for (const SequenceRange& range : chunk.ranges) {
                if (range.count > 0) {
                    runs.push_back({head * rows + range.packedFirst, range.count});
                }
            }
        }
    }
    return runs;
}

} // namespace vkf::mpi
