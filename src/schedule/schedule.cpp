// SPDX-License-Identifier: MIT
#include "schedule/schedule.hpp"

#include <algorithm>

#include "base/message.hpp"
#include "device/matrix_support.hpp"
#include "schedule/call_table.hpp"
#include "schedule/counts.hpp"
#include "schedule/dequantized_keys.hpp"
#include "schedule/item_order.hpp"
#include "schedule/packed_sequences.hpp"
#include "schedule/paths.hpp"
#include "schedule/storage16.hpp"
#include "schedule/tile_map.hpp"
#include "tiles/amd/registers.hpp"
#include "tiles/coopmat_tile.hpp"
#include "tiles/tile_problem.hpp"

namespace vkf {
namespace {

// Whether matrices have a tile that holds everything in registers.
bool holdsMatrices(const TunedDevice& device, const CheckedProblem& problem) {
    const CoopmatTile tile =
        chooseCoopmatTile(device, coopmatMatrices(device.caps, problem.given), tileProblem(VKF_PATH_COOPMAT, problem))
            .tile;
    return tile.subgroups != 0 && spillsOnAmd(tile, device.caps).reason == VKF_TILE_SUITS;
}

// The software driver llvmpipe has no matrix units, so that the portable kernel is faster there. fp32 numbers as bf16x3
// were not measured on AMD chips.
bool prefersMatrices(const TunedDevice& device, const CheckedProblem& problem) {
    const Caps& caps = device.caps;
    const bool avoided = caps.driver == VK_DRIVER_ID_MESA_LLVMPIPE || (usesBf16x3(problem.given) && isAmd(caps));
    return !avoided && caps.storage16() && whyNotCoopmat(caps, problem) == nullptr && holdsMatrices(device, problem);
}

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

VkfPath chosenPath(const TunedDevice& device, const CheckedProblem& problem) {
    const VkfProblem& p = problem.given;
    if (p.path != VKF_PATH_AUTO) {
        return p.path;
    }
    const bool wide = std::max(p.headDim, p.valueDim) > maxHeadDim; // no other path takes such heads
    const bool few = device.caps.storage16() && typicalRows(p) <= mostDecodeRows && !has(p, VKF_USE_BLOCK_MASK);
    if (wide || (few && (!isCrowded(problem) || usesBf16x3(p)))) { // fp32 as bf16x3 was not measured for few rows
        return VKF_PATH_DECODE;
    }
    if (prefersMatrices(device, problem)) {
        return VKF_PATH_COOPMAT;
    }
    return few ? VKF_PATH_DECODE : VKF_PATH_SCALAR;
}

} // namespace

uint32_t Schedule::steps() const {
    uint32_t total = 0;
    for (const Phase& phase : phases) {
        total += phase.steps();
    }
    return total;
}

uint64_t Schedule::reserveScratch(uint64_t bytes) {
    const uint64_t offset = (scratchBytes + scratchAlignment - 1) / scratchAlignment * scratchAlignment;
    scratchBytes = offset + bytes;
    return offset;
}

VkfResult makeSchedule(const TunedDevice& device, const CheckedProblem& problem, Schedule* schedule,
                       VkfMessage* message) {
    const Caps& caps = device.caps;
    Schedule made;
    made.path = chosenPath(device, problem);
    ScheduleBuilder builder(caps, problem, &made);
    if (const VkfResult result = checkStorage16(caps, problem, made.path, message); result != VKF_SUCCESS) {
        return result;
    }
    if (const VkfResult result = checkRowCount(problem, 1, message); result != VKF_SUCCESS) {
        return result;
    }
    const auto schedulePath = made.path == VKF_PATH_STANDARD    ? scheduleStandard
                              : made.path == VKF_PATH_COOPMAT   ? scheduleCoopmat
                              : made.path == VKF_PATH_DECODE    ? scheduleDecode
                              : made.path == VKF_PATH_KEY_OUTER ? scheduleKeyOuter
                                                                : scheduleScalar;
    if (const VkfResult result = schedulePath(device, problem, builder, message); result != VKF_SUCCESS) {
        return result;
    }
    if (const VkfResult result = scheduleProbabilities(caps, problem, builder, message); result != VKF_SUCCESS) {
        return result;
    }
    alignForStorage16(caps, problem, &made);
    orderItems(caps, problem, &made);
    addTileMap(caps, problem, &made);
    if (const VkfResult result = addDequantizedKeys(caps, problem, builder, &made, message); result != VKF_SUCCESS) {
        return result;
    }
    addSequenceList(problem, &made);
    addTable(problem, &made);
    if (const VkfResult result = checkStepCount(made.phases, message); result != VKF_SUCCESS) {
        return result;
    }
    *schedule = std::move(made);
    return VKF_SUCCESS;
}

} // namespace vkf
