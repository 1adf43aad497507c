// SPDX-License-Identifier: MIT
#include "planning/decide/decide_paths.hpp"

#include <algorithm>
#include <utility>

#include "device/matrix_support.hpp"
#include "tiles/amd/registers.hpp"

namespace vkf {
namespace {

// The default path is decode up to mostDecodeRows query rows. But path coopmat, where it can run, takes problems with
// more than mostPackedDecodeRows packed rows and at least fewKeys keys in all KV heads. Path decode reads the keys once
// for every 16 packed rows, and path coopmat once for all rows. Times with 8 KV heads in us:
//
//     packed rows   keys   decode   coopmat
//              64   1024     15.6      18.4
//              64   4096       71        50
//              32    any   about the same
constexpr uint32_t mostDecodeRows = 16;
constexpr uint64_t mostPackedDecodeRows = 32;
constexpr uint64_t fewKeys = 16384;

// Whether many packed rows meet many keys.
bool isCrowded(const CheckedProblem& problem) {
    const VkfProblem& p = problem.given;
    const bool manyRows = !problem.empty && p.queryHeads / p.kvHeads * uint64_t{typicalRows(p)} > mostPackedDecodeRows;
    return manyRows && uint64_t{typicalSequences(p)} * p.kvHeads * typicalKeys(p) >= fewKeys;
}

// Whether AUTO may take path coopmat. The software driver llvmpipe has no matrix units, so that the portable kernel is
// faster there. fp32 numbers as bf16x3 were not measured on AMD chips.
bool mayTakeMatrices(const Caps& caps, const CheckedProblem& problem) {
    const bool avoided = caps.driver == VK_DRIVER_ID_MESA_LLVMPIPE || (usesBf16x3(problem.given) && isAmd(caps));
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
    if (p.path != VKF_PATH_AUTO) {
        return {p.path, {}};
    }
    const bool wide = std::max(p.headDim, p.valueDim) > maxHeadDim; // no other path takes such heads
    const bool few = caps.storage16() && typicalRows(p) <= mostDecodeRows && !has(p, VKF_ARRAY_BLOCK_MASK);
    if (wide || (few && (!isCrowded(problem) || usesBf16x3(p)))) { // fp32 as bf16x3 was not measured for few rows
        return {VKF_PATH_DECODE, {}};
    }
    if (mayTakeMatrices(caps, problem)) {
        CoopmatChoice chosen = chooseCoopmat(device, problem);
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
