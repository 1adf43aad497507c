// SPDX-License-Identifier: MIT
#include "schedule/tile_map.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "problem/mask_layout.hpp"
#include "schedule/kernel_parameters.hpp"
#include "tiles/occupancy.hpp"
#include "tiles/tile_problem.hpp"

namespace vkf {
namespace {

constexpr uint32_t workgroupSize = 1024; // a mask of bytes needs as many loads in flight as possible
// An invocation has several loads of a bias in flight. Where samples decide, many small workgroups hide their latency.
// Where there are fewer workgroups than multiprocessors they are larger: each of the 16 for 2048 rows reads half a
// megabyte.
constexpr uint32_t biasWorkgroupSize = 256;
constexpr uint32_t fewBiasWorkgroupsSize = 512;
constexpr uint64_t wordBytes = 16; // three bits for each of 32 tiles, and four unused bytes
constexpr uint32_t wordTiles = 32;
constexpr uint64_t pairOperations = 8;

// What a map of the bias costs and saves, in seconds. The numbers of a GPU are those of an H200.
struct Speed {
    double operations; // of attention, a second
    double bytes;      // of a bias that the map reads, a second
    double fixed;      // seconds that a map takes whatever its size: dispatches, and workgroups that wait for memory
};
constexpr Speed gpuSpeed = {300e12, 4e12, 35e-6};
constexpr Speed softwareSpeed = {20e9, 10e9, 12e-6}; // llvmpipe on a few cores
constexpr double savedShare = 0.5;                   // of the time of attention, by a causal mask

bool hasMap(const Caps& caps, const CheckedProblem& problem, const Schedule& schedule) {
    const VkfProblem& p = problem.given;
    // Packed sequences have no map, because their tiles of rows are numbered by sequence. The kernel asks per-key masks
    // about every key then.
    return walksTiles(schedule.path) && (problem.hasPerKeyMasks() || mapsBias(caps, problem)) &&
           !has(p, VKF_USE_CU_SEQLENS) && p.keys != 0 && !schedule.phases.empty();
}

bool differsByHead(const VkfProblem& p, const VkfBroadcastArray& array) {
    return repeatedCount(array.heads, p.queryHeads) > 1 && array.headStride != 0;
}

// Whether each head needs its own map. `bias`: the map looks at the bias.
bool needsHeads(const VkfProblem& p, bool bias) {
    return (has(p, VKF_USE_MASK) && differsByHead(p, p.mask)) || (bias && differsByHead(p, p.bias)) ||
           (has(p, VKF_USE_BLOCK_MASK) && p.queryHeads > 1 && p.blockMask.headStride != 0);
}

// Rows and keys of a tile of the map.
struct MapTile {
    uint32_t rows;
    uint32_t keys;
};

MapTile mapTileOf(const Schedule& schedule, bool bias) {
    const BiasMaskTile& masked = schedule.biasMaskTile;
    return bias && masked.rows != 0 ? MapTile{masked.rows, masked.keys}
                                    : MapTile{schedule.tile.rows, schedule.tile.keys};
}

// Returns a phase whose kernel looks at the tiles of attention. The first phase of the schedule must be attention.
Phase phaseOf(const Caps& caps, const CheckedProblem& problem, Kernel kernel, const Phase& attention, MapTile tile,
              uint64_t items, uint64_t operations) {
    const Constants& ofAttention = attention.variant.constants;
    Phase phase;
    phase.variant.kernel = kernel;
    phase.variant.constants = constantsOf(problem, Constants{}, ofAttention[VKF_ID_STRIDE_SHIFT]);
    const bool few = kernel == Kernel::mapTiles && items < multiprocessors;
    const uint32_t ofBias = few ? fewBiasWorkgroupsSize : biasWorkgroupSize;
    phase.variant.constants[VKF_ID_WORKGROUP_SIZE] =
        std::min(problem.hasPerKeyMasks() ? workgroupSize : ofBias, caps.maxInvocations);
    if (!mapsBias(caps, problem)) {
        phase.variant.constants[VKF_ID_BIAS] = 0;
    }
    phase.variant.constants[VKF_ID_PACKED_HEADS] = ofAttention[VKF_ID_PACKED_HEADS];
    phase.variant.constants[VKF_ID_TILE_MAP] = ofAttention[VKF_ID_TILE_MAP];
    phase.variant.constants[VKF_ID_MAP_TILE_ROWS] = tile.rows;
    phase.variant.constants[VKF_ID_MAP_TILE_KEYS] = tile.keys;
    phase.params = attention.params;
    phase.items = static_cast<uint32_t>(items);
    const uint64_t affordable = VKF_DEFAULT_STEP_OPERATIONS / operations;
    phase.itemsPerStep = static_cast<uint32_t>(std::clamp<uint64_t>(affordable, 1, caps.maxGroupCount));
    return phase;
}

// The classes of rows, in the order of their phases. The last phases begin while workgroups of the first still compute.
// Where the bias is a mask, their workgroups end at once, on multiprocessors that have nothing else to do. Path scalar,
// and a kernel with per-key masks, need the map in every class.
std::vector<uint32_t> rowClasses(const CheckedProblem& problem, VkfPath path) {
    if (path == VKF_PATH_COOPMAT && !problem.hasPerKeyMasks()) {
        return {VKF_ROWS_BIAS_MASK, VKF_ROWS_BIASED, VKF_ROWS_DENSE};
    }
    return {VKF_ROWS_BIAS_MASK, VKF_ROWS_BIASED};
}

// Gives a phase the tile of its class of rows, where the classes have tiles of their own. `rowTiles` and `mapRowTiles`
// are the tiles of rows of one head.
void setTileOfClass(uint32_t rowClass, const Schedule& schedule, uint64_t rowTiles, uint64_t mapRowTiles,
                    Phase* phase) {
    const BiasMaskTile& masked = schedule.biasMaskTile;
    Constants& constants = phase->variant.constants;
    const uint32_t together = masked.rows / schedule.tile.rows;
    const auto mapItems = static_cast<uint32_t>(phase->items / rowTiles * mapRowTiles);
    if (rowClass == VKF_ROWS_BIAS_MASK) {
        constants[VKF_ID_WORKGROUP_SIZE] = masked.workgroupSize;
        constants[VKF_ID_ROW_TILES] = masked.rowTiles;
        constants[VKF_ID_SHARED_DEPTHS] = masked.sharedDepths;
        constants[VKF_ID_OUTPUT_WORDS] = masked.outputWords ? 1 : 0;
        phase->items = mapItems;
        phase->itemsPerStep = std::max(phase->itemsPerStep / together, 1U);
    } else {
        constants[VKF_ID_MAP_ROW_TILES] = together;
        phase->items = mapItems * together;
    }
    if (rowClass != VKF_ROWS_DENSE) { // dense rows do not walk over the map
        constants[VKF_ID_KEY_TILES] = masked.keyMatrices;
    }
}

// The most work items that a class of rows can have. A tile of the map whose last rows do not exist has work items for
// them too.
uint64_t itemsOfClasses(const CheckedProblem& problem, const Schedule& schedule, bool bias) {
    const Phase& attention = schedule.phases.front();
    const BiasMaskTile& masked = schedule.biasMaskTile;
    if (!bias || masked.rows == 0) {
        return attention.items;
    }
    const uint32_t packed = attention.variant.constants[VKF_ID_PACKED_HEADS];
    return attention.items / tilesOfRows(problem, packed, schedule.tile.rows) *
           tilesOfRows(problem, packed, masked.rows) * (masked.rows / schedule.tile.rows);
}

// Replaces the attention phase, the first one, by one for each class of rows. They write different rows.
void divideRows(const CheckedProblem& problem, const std::vector<uint32_t>& classes, Schedule* schedule) {
    const Phase attention = schedule->phases.front();
    const uint32_t packed = attention.variant.constants[VKF_ID_PACKED_HEADS];
    schedule->phases.erase(schedule->phases.begin());
    for (size_t i = 0; i < classes.size(); i++) {
        Phase ofClass = attention;
        ofClass.joins = i > 0;
        ofClass.variant.constants[VKF_ID_ROW_CLASS] = classes[i];
        if (schedule->biasMaskTile.rows != 0) {
            setTileOfClass(classes[i], *schedule, tilesOfRows(problem, packed, schedule->tile.rows),
                           tilesOfRows(problem, packed, schedule->biasMaskTile.rows), &ofClass);
        }
        schedule->phases.insert(schedule->phases.begin() + static_cast<std::ptrdiff_t>(i), ofClass);
    }
}

} // namespace

// For instance, 8192 rows and keys of 16 heads with D = 128 take 1.8 ms at 300 TFLOP/s. A mask of fp16 for all heads
// has 134 MB, which take 34 us. With 1024 rows and keys attention takes 40 us without a bias, 53 with one, and 75 with
// a causal mask and a map: few workgroups make the map, and the longest tile of rows takes as long as before.
bool mapsBias(const Caps& caps, const CheckedProblem& problem) {
    const VkfProblem& p = problem.given;
    if (!has(p, VKF_USE_BIAS) || has(p, VKF_USE_CU_SEQLENS)) {
        return false;
    }
    const Speed& speed = caps.driver == VK_DRIVER_ID_MESA_LLVMPIPE ? softwareSpeed : gpuSpeed;
    const double pairs = visiblePairs(problem) * p.batch;
    const double columns = static_cast<double>(p.headDim) + p.valueDim;
    const double attention = 2.0 * columns * pairs * p.queryHeads / speed.operations;
    const double maps = needsHeads(p, true) ? p.queryHeads : 1.0;
    const double reading = pairs * maps * static_cast<double>(vkfStoredBytes(p.bias.type, 1)) / speed.bytes;
    return savedShare * attention > reading + speed.fixed;
}

void addTileMap(const Caps& caps, const CheckedProblem& problem, Schedule* schedule) {
    if (!hasMap(caps, problem, *schedule)) {
        return;
    }
    const VkfProblem& p = problem.given;
    Phase& attention = schedule->phases.front();
    const bool bias = mapsBias(caps, problem);
    const bool byHead = needsHeads(p, bias);
    const MapTile tile = mapTileOf(*schedule, bias);
    const uint32_t packed = attention.variant.constants[VKF_ID_PACKED_HEADS];
    const uint64_t heads = byHead ? p.queryHeads / packed : 1;
    const uint64_t rowTiles = tilesOfRows(problem, packed, tile.rows);
    const uint64_t wordKeys = uint64_t{wordTiles} * tile.keys;
    const uint64_t words = p.batch * heads * rowTiles * VKF_TILES(p.keys, wordKeys);
    if (words > mostCount || itemsOfClasses(problem, *schedule, bias) > mostCount) {
        return; // without a map, the kernel asks per-key masks about every key
    }
    attention.variant.constants[VKF_ID_TILE_MAP] = byHead ? VKF_MAP_BY_HEAD : VKF_MAP_SHARED;
    const uint64_t orders = p.batch * heads;
    const Phase map =
        phaseOf(caps, problem, Kernel::mapTiles, attention, tile, words, pairOperations * tile.rows * wordKeys);
    Phase order = phaseOf(caps, problem, Kernel::orderTiles, attention, tile, orders, rowTiles * rowTiles);
    if (bias) {
        const std::vector<uint32_t> classes = rowClasses(problem, schedule->path);
        divideRows(problem, classes, schedule);
        order.variant.constants[VKF_ID_ROW_CLASS] = *std::max_element(classes.begin(), classes.end());
    }
    schedule->phases.insert(schedule->phases.begin(), {map, order});
    schedule->mapOffset = schedule->reserveScratch(words * wordBytes + orders * rowTiles * sizeof(uint32_t));
    schedule->orderOffset = schedule->mapOffset + words * wordBytes;
}

} // namespace vkf
