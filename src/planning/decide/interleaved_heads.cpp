// SPDX-License-Identifier: MIT
#include "planning/decide/interleaved_heads.hpp"

#include <algorithm>

#include "device/chips.hpp"
#include "planning/decide/tile_map.hpp"
#include "tiles/tile_problem.hpp"

namespace vkf {
namespace {

bool tilesDiffer(const Caps& caps, const CheckedProblem& problem) {
    return problem.windowed() || problem.hasPerKeyMasks() || mapsBias(caps, problem);
}

uint64_t keyBytes(const CheckedProblem& problem, const std::optional<DequantizedKeys>& dequantized) {
    const VkfTensorLayout& k = dequantized ? dequantized->k : problem.layout(VKF_TENSOR_K);
    const VkfTensorLayout& v = dequantized ? dequantized->v : problem.layout(VKF_TENSOR_V);
    return problem.fields.keys * (vkfStoredBytes(k.type, k.dim) + vkfStoredBytes(v.type, v.dim));
}

} // namespace

uint32_t interleavedHeads(const Caps& caps, const CheckedProblem& problem, const Decision& decision) {
    const VkfProblem& p = problem.fields;
    if (!walksTiles(decision.path) || !tilesDiffer(caps, problem) || has(p, VKF_USE_CU_SEQLENS) ||
        has(p, VKF_USE_CHOSEN_KEYS) || p.keys == 0 || problem.empty) {
        return 1;
    }
    const Chip::InterleavedHeads& chip = chipOf(caps).interleavedHeads;
    const uint64_t heads = uint64_t{tensorSequences(p)} * p.queryHeads / decision.packedHeads * decision.splits;
    uint64_t count =
        std::clamp<uint64_t>(chip.cacheBytes / keyBytes(problem, decision.dequantizedKeys), 1, chip.maxHeads);
    while (heads % count != 0) {
        count--;
    }
    return static_cast<uint32_t>(count);
}

} // namespace vkf
