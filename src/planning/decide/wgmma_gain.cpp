// SPDX-License-Identifier: MIT
#include "planning/decide/wgmma_gain.hpp"

#include <algorithm>
#include <cstdint>

#include "planning/path_decision.hpp"
#include "tiles/tile_problem.hpp"

namespace vkf {
namespace {

// What decides between path wgmma and path coopmat.
struct LaunchSize {
    bool masked = false;
    uint32_t columns = 0; // of the wider of q and v
    uint64_t packedRows = 0;
    uint64_t workgroups = 0;
    double visibleKeys = 0;         // of a row, on average
    double multiprocessorShare = 0; // that workgroups occupy until the last of them ends
};

LaunchSize launchSizeOf(const Chip::Wgmma& chip, const CheckedProblem& problem, const WgmmaChoice& choice) {
    const VkfProblem& p = problem.fields;
    const double pairOperations = 2.0 * (static_cast<double>(p.headDim) + p.valueDim) * p.queryHeads;
    const uint64_t rows = uint64_t{p.batch} * typicalRows(p);
    const WgmmaPlan& plan = choice.plan;
    const uint64_t workgroups = choice.tiled.workgroups(plan.tile.rows()) * std::max(plan.splits, 1U);
    const uint64_t waves = std::max<uint64_t>((workgroups + chip.workgroupsAtOnce - 1) / chip.workgroupsAtOnce, 1);
    LaunchSize size;
    size.masked = choice.tiled.masked;
    size.columns = std::max(p.headDim, p.valueDim);
    size.workgroups = workgroups;
    size.packedRows = typicalPackedRows(p);
    size.visibleKeys = callOperations(problem) / (pairOperations * static_cast<double>(std::max<uint64_t>(rows, 1)));
    size.multiprocessorShare = static_cast<double>(workgroups) / static_cast<double>(waves * chip.workgroupsAtOnce);
    return size;
}

uint64_t minPackedRows(const Chip::Wgmma& chip, const LaunchSize& size) {
    const bool wide = size.columns > chip.unmaskedColumns;
    return wide || size.masked ? chip.minMaskedPackedRows : chip.minPackedRows;
}

uint64_t fewWorkgroups(const Chip::Wgmma& chip, const LaunchSize& size) {
    return size.masked ? chip.fewMaskedWorkgroups : chip.fewWorkgroups;
}

double minNarrowKeys(const Chip::Wgmma& chip, const LaunchSize& size) {
    return size.masked ? chip.minNarrowMaskedKeys : chip.minNarrowKeys;
}

// The fewest packed rows for which a launch of few workgroups is faster.
uint64_t minFewNarrowRows(const Chip::Wgmma& chip, const LaunchSize& size) {
    return size.visibleKeys >= chip.manyKeys ? chip.minNarrowRowsOfManyKeys : chip.minNarrowRows;
}

// For heads of up to narrowColumns.
bool paysForNarrow(const Chip::Wgmma& chip, const LaunchSize& size) {
    const bool few = size.packedRows >= minFewNarrowRows(chip, size) && size.workgroups <= fewWorkgroups(chip, size);
    const bool many = size.packedRows >= chip.minNarrowRows && size.visibleKeys >= minNarrowKeys(chip, size) &&
                      size.multiprocessorShare >= chip.minNarrowShare;
    return few || many;
}

bool waitsForMemory(const Chip::Wgmma& chip, const LaunchSize& size) {
    return size.packedRows <= chip.fewPackedRows && size.visibleKeys >= chip.manyKeysOfFewRows;
}

bool pays(const Chip::Wgmma& chip, const LaunchSize& size) {
    if (size.columns <= chip.narrowColumns) {
        return paysForNarrow(chip, size);
    }
    return size.packedRows >= minPackedRows(chip, size) && !waitsForMemory(chip, size);
}

std::string enoughRows(const Chip::Wgmma& chip, const LaunchSize& size) {
    return inWords("wgmma is faster than coopmat from %llu packed rows on (here %llu)",
                   static_cast<unsigned long long>(minPackedRows(chip, size)),
                   static_cast<unsigned long long>(size.packedRows));
}

std::string narrowCalls(const Chip::Wgmma& chip, const LaunchSize& size) {
    return inWords(
        "for up to %u columns, wgmma is faster than coopmat from %llu packed rows on (here %llu) in up to %llu "
        "workgroups (here %llu), or from %llu on with %.0f visible keys (here %.0f) and %.0f%% of the "
        "multiprocessors (here %.0f%%)",
        chip.narrowColumns, static_cast<unsigned long long>(minFewNarrowRows(chip, size)),
        static_cast<unsigned long long>(size.packedRows), static_cast<unsigned long long>(fewWorkgroups(chip, size)),
        static_cast<unsigned long long>(size.workgroups), static_cast<unsigned long long>(chip.minNarrowRows),
        minNarrowKeys(chip, size), size.visibleKeys, 100 * chip.minNarrowShare, 100 * size.multiprocessorShare);
}

std::string manyKeysForFewRows(const Chip::Wgmma& chip, const LaunchSize& size) {
    return inWords("coopmat reads memory faster for up to %llu packed rows (here %llu) that see at least %.0f keys "
                   "(here %.0f)",
                   static_cast<unsigned long long>(chip.fewPackedRows),
                   static_cast<unsigned long long>(size.packedRows), chip.manyKeysOfFewRows, size.visibleKeys);
}

std::string launchReason(const Chip::Wgmma& chip, const LaunchSize& size) {
    if (size.columns <= chip.narrowColumns) {
        return narrowCalls(chip, size);
    }
    return waitsForMemory(chip, size) ? manyKeysForFewRows(chip, size) : enoughRows(chip, size);
}

} // namespace

WgmmaGain gainOfWgmma(const Chip::Wgmma& chip, const CheckedProblem& problem, const WgmmaChoice& choice) {
    const LaunchSize size = launchSizeOf(chip, problem, choice);
    return {pays(chip, size), launchReason(chip, size)};
}

} // namespace vkf
