// SPDX-License-Identifier: MIT
//
// The schedule of a plan: which kernels run in which order, over how many work items, in how many steps. A schedule
// holds no Vulkan handle, so that tests need no device.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "pipelines/variant.hpp"
#include "problem/problem.hpp"
#include "shared/attention_params.h"
#include "tiles/tile_search.hpp"
#include "tiles/tuned_device.hpp"

namespace vkf {

// Invocations of a workgroup that divides rows of path key_outer; a row takes at most 64.
inline constexpr uint32_t finishWorkgroupSize = 128;

// Alignment of the scratch memory in bytes, and of each part that is reserved in it.
inline constexpr uint64_t scratchAlignment = 16;

// The memory that a kernel uses as its q, k, v or o. scratchState is (m, l) of each row, in a backward pass (lse,
// delta). scratchState, scratchLse, dequantizedK and dequantizedV lie inside the scratch memory, at offsets that the
// schedule has. dout to keyStarts belong to the backward pass; the starts are those of packed sequences.
enum class Operand : uint32_t {
    none,
    q,
    k,
    v,
    o,
    lse,
    probabilities,
    scratch,
    scratchState,
    probabilityRows,
    scratchLse,
    dout,
    dlse,
    rowStarts,
    keyStarts,
    dequantizedK,
    dequantizedV
};
inline constexpr size_t operandCount = 17;

// One kernel over a range of work items. The items are divided into passes of equal size, and a pass into steps of at
// most itemsPerStep items. A pass waits for the pass before it, and a phase for the phases before it unless it joins.
struct Phase {
    Variant variant;
    std::array<Operand, 4> operands{}; // in the order of the kernel's push constants
    shared::CallParams params{};       // addresses and first_item left 0
    Operand lse = Operand::none;       // the memory of lse, if the kernel writes or reads it
    uint32_t items = 0;                // of all passes
    uint32_t passes = 1;
    uint32_t itemsPerStep = 0;
    bool joins = false; // runs at the same time as the phase before it
    // Takes turns with the phase before it, which has as many passes: a pass of that phase, then one of this phase. If
    // it joins, its passes run at the same time as those of that phase.
    bool alternates = false;

    uint32_t itemsPerPass() const { return items / passes; }
    // Divides before it adds: a step may have nearly as many items as 32 bits can count.
    uint32_t stepsPerPass() const {
        return itemsPerPass() / itemsPerStep + (itemsPerPass() % itemsPerStep != 0 ? 1 : 0);
    }
    uint32_t steps() const { return passes * stepsPerPass(); }
};

// The numbers of a tile that VkfPlanInfo shows.
struct TileShape {
    uint32_t rows = 0;
    uint32_t keys = 0;
    uint32_t workgroupSize = 0;
    uint32_t sharedBytes = 0;
};

// Packed sequences have an entry for each tile of rows (shaders/shared/work_items.h).
struct TileSequences {
    uint32_t count = 0;
    uint32_t packedHeads = 0;
    uint32_t tileRows = 0;
    uint64_t offset = 0; // of the list of tile sequences in the scratch memory
};

// Path coopmat: the tile for rows whose bias is a mask, which is the tile of the map too. Rows to which the bias is
// added have tiles of as many keys, of which a tile of the map has one or more.
struct BiasMaskTile {
    uint32_t rows = 0; // 0 = all rows have the tile of the path
    uint32_t keys = 0;
    uint32_t workgroupSize = 0;
    uint32_t rowTiles = 0;     // of a subgroup, in matrices
    uint32_t keyMatrices = 0;  // in the keys of the tile
    uint32_t sharedDepths = 0; // depths of q in shared memory
    bool outputWords = false;
};

// Path coopmat: k and v of block types, converted to the type of the matrices before attention (dequantized_keys.hpp).
struct DequantizedKeys {
    VkfTensorLayout k{}; // no elements = attention reads k and v as the caller stores them
    VkfTensorLayout v{};
    uint64_t keyOffset = 0; // of the converted k in the scratch memory
    uint64_t valueOffset = 0;
};

struct Schedule {
    VkfPath path{};
    TileShape tile;
    VkfType productType = VKF_TYPE_F32; // the type of products: of p, and of an fp32 q
    MatrixLayout matrix;                // empty without cooperative matrices
    bool bf16x3 = false;                // matrices hold parts of fp32 numbers (shaders/coopmat/bf16x3.glsl)
    uint32_t inputAlignment = 1;        // bytes; q, k and v need it besides the alignment of their elements
    uint32_t outputAlignment = 1;       // bytes; the same for o
    uint64_t scratchBytes = 0;
    uint64_t scratchStateOffset = 0;
    uint64_t scratchLseOffset = 0;
    uint64_t tableOffset = 0; // of the table of optional inputs in the scratch memory
    uint64_t mapOffset = 0;   // of the map of tiles
    uint64_t orderOffset = 0; // of the order of the tiles of the map
    TileSequences tileSequences;
    uint32_t splits = 1;  // key splits
    std::string tileText; // tile and key splits in the spelling of tuning data
    bool tuned = false;   // the tuning data chose tile and key splits
    BiasMaskTile biasMaskTile;
    DequantizedKeys dequantizedKeys;
    ConsideredTiles considered;
    std::vector<Phase> phases; // none if the output is empty

    uint32_t steps() const;
    // Adds bytes at the end of the scratch memory and returns their offset.
    uint64_t reserveScratch(uint64_t bytes);
};

// Chooses path, tile and steps. Errors say why the device cannot do the problem.
VkfResult makeSchedule(const TunedDevice& device, const CheckedProblem& problem, Schedule* schedule,
                       VkfMessage* message);

} // namespace vkf
