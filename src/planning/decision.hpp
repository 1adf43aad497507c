// SPDX-License-Identifier: MIT
//
// What the library decides about a problem on a device, before it builds phases: the path, its kernels and tiles, and
// what else the call needs. decide/ makes the decision once. build/ reads it and chooses nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "device/matrix_layout.hpp"
#include "pipelines/variant.hpp"
#include "planning/path_decision.hpp"
#include "planning/phase.hpp"
#include "problem/problem.hpp"
#include "tiles/scalar_tile.hpp"
#include "tiles/standard_tile.hpp"
#include "tiles/tile_search.hpp"
#include "tiles/tuned_device.hpp"

namespace vkf {

// The numbers of a tile that VkfPlanInfo shows.
struct TileShape {
    uint32_t rows = 0;
    uint32_t keys = 0;
    uint32_t workgroupSize = 0;
    uint32_t sharedBytes = 0;
};

// The map of tiles (shaders/masks/tile_map.glsl), from which kernels know empty and partial tiles.
struct TileMapChoice {
    bool readsBias = false;
    bool byHead = false; // each query head has its own map; where query heads are packed, each KV head
    bool ofAll = false;  // all sequences share one map
    uint32_t rows = 0;   // of a tile of the map
    uint32_t keys = 0;
    std::vector<uint32_t> rowClasses; // VKF_ROWS_*, each with an attention phase; empty = one phase for all rows
};

// Path coopmat: the tile for rows whose bias is a mask, which is the tile of the map too. Rows to which the bias is
// added have tiles of as many keys, of which a tile of the map has one or more.
struct BiasMaskTile {
    uint32_t rows = 0;
    uint32_t keys = 0;
    uint32_t workgroupSize = 0;
    uint32_t rowMatrices = 0;   // matrices of rows that a subgroup owns
    uint32_t keyMatrices = 0;   // in the keys of the tile
    uint32_t sharedQSlices = 0; // slices of q in shared memory
    bool outputWords = false;
};

// Path coopmat: k and v of block types, converted to the type of the matrices before attention.
struct DequantizedKeys {
    VkfTensorLayout k{};
    VkfTensorLayout v{};
    uint32_t workgroupKeys = 0; // that one workgroup converts
    bool wholeWords = false;    // rows of block types are loaded in words
};

// The kernels of path standard, and the sizes that they share.
struct StandardKernels {
    Kernel scores{};
    Kernel output{};
    uint32_t typeOfP = 0;        // VKF_STORED_*
    uint32_t stepKeys = 0;       // keys of P v that are staged at once
    uint32_t rowMultiple = 0;    // the rows of S are padded to a multiple of it
    uint32_t columnMultiple = 0; // the columns of S are padded to a multiple of it
    SoftmaxTile softmax{};
};

struct Decision {
    VkfPath path{};
    PathDecisions pathDecisions; // on every path
    TileShape tile;
    std::string tileText; // tile and key splits in the spelling of tuning data
    bool tuned = false;   // the tuning data chose tile and key splits
    ConsideredTiles considered;

    Kernel kernel{};                         // of attention; path standard has several
    Constants constants{};                   // of the tile, and of how the kernel loads and stores rows
    std::optional<StandardKernels> standard; // path standard
    std::optional<ScalarTile> fallback;      // of the fallback kernel for fp32 inputs that bf16x3 cannot represent
    uint32_t splits = 1;                     // key splits
    uint32_t packedHeads = 1;                // query heads whose rows share tiles
    uint32_t interleavedHeads = 1;           // heads whose workgroups take turns with their tiles
    MatrixLayout matrix;                     // empty without cooperative matrices
    VkfType matrixElements = VKF_TYPE_F32;   // the 16-bit type of cooperative matrices; f32 = none
    VkfType productType = VKF_TYPE_F32;      // the type of products: of p, and of an fp32 q
    bool bf16x3 = false;                     // matrices hold parts of fp32 numbers (shaders/coopmat/bf16x3.glsl)
    uint32_t inputAlignment = 1;             // bytes; q, k and v need it besides the alignment of their elements
    uint32_t outputAlignment = 1;            // bytes; the same for o
    std::optional<TileMapChoice> map;
    std::optional<BiasMaskTile> biasMaskTile; // if they have a tile of their own
    std::optional<DequantizedKeys> dequantizedKeys;
    bool probabilities = false; // a phase of its own makes them from lse
    Operand lse =
        Operand::none;      // where kernels that finish rows write lse: nowhere, to the caller, or to scratch memory
    uint32_t extraSlot = 0; // VKF_EXTRA_SLOT_HAS_*: how kernels find the optional inputs
};

// Decides all of it. Errors say why the device cannot do the problem.
VkfResult decide(const TunedDevice& device, const CheckedProblem& problem, Decision* decision, VkfMessage* message);

} // namespace vkf
