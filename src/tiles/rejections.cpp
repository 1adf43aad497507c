// SPDX-License-Identifier: MIT
#include "tiles/rejections.hpp"

#include <algorithm>

namespace vkf {
namespace {

constexpr uint32_t minRowsInOneBlock = 32;
constexpr uint32_t maxRowsInSeveralBlocks = 64;

} // namespace

Rejection rejectIf(bool applies, const Rejection& rejection) { return applies ? rejection : Rejection{}; }

Rejection firstOf(std::initializer_list<Rejection> rejections) {
    const auto first = std::find_if(rejections.begin(), rejections.end(),
                                    [](const Rejection& one) { return one.reason != VKF_TILE_SUITS; });
    return first != rejections.end() ? *first : Rejection{};
}

Rejection exceedsDevice(uint32_t workgroupSize, uint32_t sharedBytes, const Caps& caps) {
    return firstOf({
        rejectIf(workgroupSize > caps.maxInvocations, {VKF_TILE_INVOCATIONS, workgroupSize, caps.maxInvocations}),
        rejectIf(sharedBytes > caps.maxSharedMemoryBytes,
                 {VKF_TILE_SHARED_MEMORY, sharedBytes, caps.maxSharedMemoryBytes}),
    });
}

Rejection breaksSubgroups(uint32_t lanes, uint32_t workgroupSize, const Caps& caps) {
    const bool wide = lanes > caps.subgroupSize;
    const bool breaks = wide || workgroupSize % caps.subgroupSize != 0;
    return rejectIf(caps.subgroupReductions() && breaks,
                    {VKF_TILE_SUBGROUPS, wide ? lanes : workgroupSize, caps.subgroupSize});
}

Rejection spillsRegisters(uint32_t registers, uint32_t most) {
    return rejectIf(registers > most, {VKF_TILE_REGISTERS, registers, most});
}

Rejection otherDimension(uint32_t dim, uint32_t least, uint32_t most) {
    return rejectIf(dim < least || dim > most, {VKF_TILE_DIMENSIONS, dim, dim < least ? least : most});
}

Rejection halfEmpty(uint32_t tileRows, uint64_t rows) {
    return rejectIf(tileRows >= 2 * rows, {VKF_TILE_HALF_EMPTY, tileRows, 2 * rows});
}

Rejection fewWorkgroups(uint64_t workgroups, uint64_t least) {
    return rejectIf(workgroups < least, {VKF_TILE_FEW_WORKGROUPS, workgroups, least});
}

// Without 16-bit storage there is no kernel that merges partial results.
Rejection tooManyPartialResults(const TileProblem& problem, uint32_t splits, const Caps& caps) {
    const uint64_t rows = problem.heads * problem.queryRows;
    const uint64_t most = caps.storage16() ? maxCount : rows;
    return rejectIf(rows > most / splits, {VKF_TILE_PARTIALS, rows * splits, most});
}

Rejection otherBlocks(BlockTiles tiles, const TileProblem& problem, uint32_t tileRows, uint32_t tileKeys) {
    const bool inside = tileRows >= minRowsInOneBlock && problem.liesInOneBlock(tileRows, tileKeys);
    const bool among = tiles == BlockTiles::inOneBlock ? inside : tileRows <= maxRowsInSeveralBlocks;
    return rejectIf(problem.maskBlock != 0 && !among, {VKF_TILE_BLOCKS, tileRows, problem.maskBlock});
}

Rejection spansBlocks(const TileProblem& problem, uint32_t tileRows, uint32_t tileKeys) {
    return rejectIf(!problem.liesInOneBlock(tileRows, tileKeys), {VKF_TILE_BLOCKS, tileRows, problem.maskBlock});
}

} // namespace vkf
