// SPDX-License-Identifier: MIT
//
// What a plan does, decided from plain data: which kernels run in which order, over how many work
// items, in how many steps. No handle, so it can be tested without a device.
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

// Invocations of a workgroup that merges splits, if the device has as many.
inline constexpr uint32_t mergeWorkgroupSize = 256;

// Invocations of a workgroup that divides rows of path key_outer; a row takes at most 64.
inline constexpr uint32_t finishWorkgroupSize = 128;

// Bytes, of the scratch memory and of what is reserved behind the path's own part of it.
inline constexpr uint64_t scratchAlignment = 16;

// Where a kernel finds the memory that stands in the place of q, k, v and o.
// scratchState, which is (m, l) of each row, and scratchLse lie some bytes into the scratch memory.
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
    scratchLse
};
inline constexpr size_t operandCount = 11;

// One kernel over a range of work items, in passes of as many items each, each of which waits for the one before it.
// A pass is split into steps of at most itemsPerStep. A phase after the first waits for the one before it.
struct Phase {
    Variant variant;
    std::array<Operand, 4> operands{}; // in the order of the kernel's push constants
    shared::CallParams params{};       // addresses and first_item left 0
    Operand lse = Operand::none;       // where lse goes, if the kernel writes it, or comes from
    uint32_t items = 0;                // of all passes
    uint32_t passes = 1;
    uint32_t itemsPerStep = 0;

    uint32_t itemsPerPass() const { return items / passes; }
    uint32_t stepsPerPass() const { return (itemsPerPass() + itemsPerStep - 1) / itemsPerStep; }
    uint32_t steps() const { return passes * stepsPerPass(); }
};

// What the outside sees of a tile.
struct TileShape {
    uint32_t rows = 0;
    uint32_t keys = 0;
    uint32_t workgroupSize = 0;
    uint32_t sharedBytes = 0;
};

// Of packed sequences, which have one for each tile of rows (shaders/shared/call_table.h).
struct Slots {
    uint32_t count = 0;
    uint32_t packedHeads = 0;
    uint32_t tileRows = 0;
    uint64_t offset = 0; // of their list, in the scratch memory
};

struct Schedule {
    VkfPath path{};
    TileShape tile;
    VkfType productType = VKF_TYPE_F32; // in which p enters p v
    MatrixLayout matrix;                // none if not on cooperative matrices
    uint32_t inputAlignment = 1;        // bytes, of q, k and v, beside that of their elements
    uint64_t scratchBytes = 0;
    uint64_t scratchStateOffset = 0;
    uint64_t scratchLseOffset = 0;
    uint64_t tableOffset = 0; // of what the call brings, in the scratch memory
    uint64_t mapOffset = 0;   // of the map of tiles
    uint64_t orderOffset = 0; // of their order
    Slots slots;
    uint32_t splits = 1;  // of the keys
    std::string tileText; // tile and splits as tuning data writes them, or would
    bool tuned = false;   // tuning data chose them
    ConsideredTiles considered;
    std::vector<Phase> phases; // none if the output is empty

    uint32_t steps() const;
    // Makes room behind the rest of the scratch, and says at which offset.
    uint64_t reserveScratch(uint64_t bytes);
};

// Chooses path, tiles and steps, or says why the device cannot do it.
VkfResult makeSchedule(const TunedDevice& device, const CheckedProblem& problem, Schedule* schedule,
                       VkfMessage* message);

} // namespace vkf
