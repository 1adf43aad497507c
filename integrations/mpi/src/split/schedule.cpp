// SPDX-License-Identifier: MIT
#include "split/schedule.hpp"

#include "split/pair.hpp"

namespace vkf::mpi {
namespace {

bool sees(const VkfProblem& whole, const Lengths& lengths, const Part& rows, const Part& keys) {
    for (const Chunk& rowChunk : rows.rows) {
        for (const Chunk& keyChunk : keys.keys) {
            if (pairCall(whole, lengths, rowChunk, keyChunk)) {
                return true;
            }
        }
    }
    return false;
}

} // namespace

Schedule::Schedule(const VkfProblem& whole, Distribution distribution, const Lengths& lengths, uint32_t rankCount,
                   uint32_t ownRank)
    : ranks(rankCount), rank(ownRank), steps(rankCount), reach(rankCount, 0) {
    for (uint32_t i = 0; i < ranks; ++i) {
        parts.push_back(partOf(whole, distribution, lengths, ranks, i));
    }
    for (uint32_t owner = 0; owner < ranks; ++owner) {
        for (uint32_t step = ranks - 1; step > 0 && reach[owner] == 0; --step) {
            if (sees(whole, lengths, parts[(owner + step) % ranks], parts[owner])) {
                reach[owner] = step;
            }
        }
    }
    const std::vector<Chunk>& rows = parts[rank].rows;
    for (uint32_t step = 0; step < ranks; ++step) {
        const std::vector<Chunk>& keys = parts[ownerOf(step)].keys;
        for (uint32_t i = 0; i < rows.size(); ++i) {
            for (uint32_t j = 0; j < keys.size(); ++j) {
                if (auto call = pairCall(whole, lengths, rows[i], keys[j])) {
                    steps[step].push_back({i, j, call->problem, std::move(call->rowOffsets)});
                }
            }
        }
    }
}

} // namespace vkf::mpi
