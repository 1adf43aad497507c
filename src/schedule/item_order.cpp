// SPDX-License-Identifier: MIT
#include "schedule/item_order.hpp"

#include <algorithm>

#include "tiles/tile_problem.hpp"

namespace vkf {
namespace {

// Heads that take turns read their k and v side by side. More than 16 gain nothing: with tiles of 256 rows, one H200's
// multiprocessors are then within 3 % of equally busy for any N from 1024.
constexpr uint64_t mostHeads = 16;
constexpr uint64_t cacheBytes = uint64_t{32} << 20;

bool tilesDiffer(const CheckedProblem& problem) { return problem.windowed() || problem.asksKeys(); }

uint64_t keyBytes(const CheckedProblem& problem) {
    const VkfTensorLayout& k = problem.layout(VKF_TENSOR_K);
    const VkfTensorLayout& v = problem.layout(VKF_TENSOR_V);
    return problem.given.keys * (vkfStoredBytes(k.type, k.dim) + vkfStoredBytes(v.type, v.dim));
}

} // namespace

void orderItems(const CheckedProblem& problem, Schedule* schedule) {
    const VkfProblem& p = problem.given;
    if (!walksTiles(schedule->path) || !tilesDiffer(problem) || has(p, VKF_ARRAY_CU_SEQLENS) || p.keys == 0 ||
        schedule->phases.empty()) {
        return;
    }
    Phase& attention = schedule->phases.front();
    Constants& constants = attention.variant.constants;
    const uint64_t heads = attention.items / tilesOfRows(problem, constants[VKF_ID_PACKED_HEADS], schedule->tile.rows);
    uint64_t group = std::clamp<uint64_t>(cacheBytes / keyBytes(problem), 1, mostHeads);
    while (heads % group != 0) {
        group--;
    }
    constants[VKF_ID_GROUP_HEADS] = static_cast<uint32_t>(group);
}

} // namespace vkf
