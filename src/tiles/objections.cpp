// SPDX-License-Identifier: MIT
#include "tiles/objections.hpp"

#include <algorithm>

namespace vkf {
namespace {

constexpr uint32_t leastRowsInOneBlock = 32;
constexpr uint32_t mostRowsInSeveralBlocks = 64;

} // namespace

Objection objectionIf(bool applies, const Objection& objection) { return applies ? objection : Objection{}; }

Objection firstOf(std::initializer_list<Objection> objections) {
    const auto first = std::find_if(objections.begin(), objections.end(),
                                    [](const Objection& one) { return one.reason != VKF_TILE_SUITS; });
    return first != objections.end() ? *first : Objection{};
}

Objection exceedsDevice(uint32_t workgroupSize, uint32_t sharedBytes, const Caps& caps) {
    return firstOf({
        objectionIf(workgroupSize > caps.maxInvocations, {VKF_TILE_INVOCATIONS, workgroupSize, caps.maxInvocations}),
        objectionIf(sharedBytes > caps.maxSharedMemoryBytes,
                    {VKF_TILE_SHARED_MEMORY, sharedBytes, caps.maxSharedMemoryBytes}),
    });
}

Objection breaksSubgroups(uint32_t lanes, uint32_t workgroupSize, const Caps& caps) {
    const bool wide = lanes > caps.subgroupSize;
    const bool breaks = wide || workgroupSize % caps.subgroupSize != 0;
    return objectionIf(caps.subgroupReductions() && breaks,
                       {VKF_TILE_SUBGROUPS, wide ? lanes : workgroupSize, caps.subgroupSize});
}

Objection spillsRegisters(uint32_t registers, uint32_t most) {
    return objectionIf(registers > most, {VKF_TILE_REGISTERS, registers, most});
}

Objection otherDimension(uint32_t dim, uint32_t least, uint32_t most) {
    return objectionIf(dim < least || dim > most, {VKF_TILE_DIMENSIONS, dim, dim < least ? least : most});
}

Objection halfEmpty(uint32_t tileRows, uint64_t rows) {
    return objectionIf(tileRows >= 2 * rows, {VKF_TILE_HALF_EMPTY, tileRows, 2 * rows});
}

Objection fewWorkgroups(uint64_t workgroups, uint64_t least) {
    return objectionIf(workgroups < least, {VKF_TILE_FEW_WORKGROUPS, workgroups, least});
}

// Without 16-bit storage there is no kernel that merges partial results.
Objection tooManyPartialResults(const TileProblem& problem, uint32_t splits, const Caps& caps) {
    const uint64_t rows = problem.heads * problem.queryRows;
    const uint64_t most = caps.storage16() ? mostCount : rows;
    return objectionIf(rows > most / splits, {VKF_TILE_PARTIALS, rows * splits, most});
}

Objection otherBlocks(BlockTiles tiles, const TileProblem& problem, uint32_t tileRows, uint32_t tileKeys) {
    const bool inside = tileRows >= leastRowsInOneBlock && problem.liesInOneBlock(tileRows, tileKeys);
    const bool among = tiles == BlockTiles::inOneBlock ? inside : tileRows <= mostRowsInSeveralBlocks;
    return objectionIf(problem.maskBlock != 0 && !among, {VKF_TILE_BLOCKS, tileRows, problem.maskBlock});
}

Objection spansBlocks(const TileProblem& problem, uint32_t tileRows, uint32_t tileKeys) {
    return objectionIf(!problem.liesInOneBlock(tileRows, tileKeys), {VKF_TILE_BLOCKS, tileRows, problem.maskBlock});
}

} // namespace vkf
