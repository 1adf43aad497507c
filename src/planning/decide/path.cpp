// SPDX-License-Identifier: MIT
#include "planning/decide/decide_paths.hpp"

#include <algorithm>
#include <utility>

#include "device/chips.hpp"
#include "device/matrix_support.hpp"
#include "tiles/amd/registers.hpp"

namespace vkf {
namespace {

// Whether many packed rows meet many keys.
bool isCrowded(const Chip::Path& chip, const CheckedProblem& problem) {
    const VkfProblem& p = problem.given;
    const bool manyRows =
        !problem.empty && p.queryHeads / p.kvHeads * uint64_t{typicalRows(p)} > chip.mostPackedDecodeRows;
    return manyRows && uint64_t{typicalSequences(p)} * p.kvHeads * typicalKeys(p) >= chip.fewKeys;
}

// Whether AUTO may take path coopmat.
bool mayTakeMatrices(const Caps& caps, const CheckedProblem& problem) {
    const Chip::Path& chip = chipOf(caps).path;
    const bool avoided = chip.avoidsMatrices || (usesBf16x3(problem.given) && chip.avoidsBf16x3);
    return !avoided && caps.storage16() && whyNotCoopmat(caps, problem) == nullptr;
}

// Whether the tile holds everything in registers.
bool holdsMatrices(const Caps& caps, const CoopmatTile& tile) {
    return tile.subgroups != 0 && spillsOnAmd(tile, caps).reason == VKF_TILE_SUITS;
}

} // namespace

PathChoice choosePath(const TunedDevice& device, const CheckedProblem& problem) {
    const VkfProblem& p = problem.given;
    const Caps& caps = device.caps;
    const Chip::Path& chip = chipOf(caps).path;
    if (p.path != VKF_PATH_AUTO) {
        return {p.path, {}};
    }
    const bool wide = std::max(p.headDim, p.valueDim) > maxHeadDim; // no other path takes such heads
    const bool few = caps.storage16() && typicalRows(p) <= chip.mostDecodeRows && !has(p, VKF_USE_BLOCK_MASK);
    if (wide || (few && (!isCrowded(chip, problem) || usesBf16x3(p)))) { // fp32 as bf16x3 was not measured for few rows
        return {VKF_PATH_DECODE, {}};
    }
    if (mayTakeMatrices(caps, problem)) {
        CoopmatChoice chosen = chooseCoopmat(device, problem);
        // Where a phase before attention converts k and v, the tile that would convert them itself is judged. On AMD
        // chips the two can differ in what they spill, and no measurement says which of them to judge.
        const CoopmatTile judged =
            chosen.dequantizesKeys
                ? chooseCoopmatTile(device, coopmatMatrices(caps, p), tileProblem(VKF_PATH_COOPMAT, problem)).tile
                : chosen.plan.tile;
        if (holdsMatrices(caps, judged)) {
            return {VKF_PATH_COOPMAT, std::move(chosen)};
        }
    }
    return {few ? VKF_PATH_DECODE : VKF_PATH_SCALAR, {}};
}

} // namespace vkf
