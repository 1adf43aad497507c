// SPDX-License-Identifier: MIT
#include "schedule/item_order.hpp"

#include <algorithm>

#include "schedule/tile_map.hpp"
#include "tiles/tile_problem.hpp"

namespace vkf {
namespace {

// Heads that take turns read their k and v at the same time. More than 16 heads gain nothing. With 16 heads and tiles
// of 256 rows, the multiprocessors of an H200 are equally busy within 3 %, for any N from 1024.
constexpr uint64_t mostHeads = 16;
constexpr uint64_t cacheBytes = uint64_t{32} << 20; // for k and v of all heads that take turns

bool tilesDiffer(const Caps& caps, const CheckedProblem& problem) {
    return problem.windowed() || problem.hasPerKeyMasks() || mapsBias(caps, problem);
}

uint64_t keyBytes(const CheckedProblem& problem, const DequantizedKeys& dequantized) {
    const bool dequantizes = dequantized.k.elements != 0;
    const VkfTensorLayout& k = dequantizes ? dequantized.k : problem.layout(VKF_TENSOR_K);
    const VkfTensorLayout& v = dequantizes ? dequantized.v : problem.layout(VKF_TENSOR_V);
    return problem.given.keys * (vkfStoredBytes(k.type, k.dim) + vkfStoredBytes(v.type, v.dim));
}

} // namespace

void orderItems(const Caps& caps, const CheckedProblem& problem, Schedule* schedule) {
    const VkfProblem& p = problem.given;
    if (!walksTiles(schedule->path) || !tilesDiffer(caps, problem) || has(p, VKF_USE_CU_SEQLENS) || p.keys == 0 ||
        schedule->phases.empty()) {
        return;
    }
    Phase& attention = schedule->phases.front();
    Constants& constants = attention.variant.constants;
    const uint64_t heads = attention.items / tilesOfRows(problem, constants[VKF_ID_PACKED_HEADS], schedule->tile.rows);
    uint64_t group = std::clamp<uint64_t>(cacheBytes / keyBytes(problem, schedule->dequantizedKeys), 1, mostHeads);
    while (heads % group != 0) {
        group--;
    }
    constants[VKF_ID_HEADS_IN_TURN] = static_cast<uint32_t>(group);
}

} // namespace vkf
