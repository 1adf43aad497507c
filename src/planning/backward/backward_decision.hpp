// SPDX-License-Identifier: MIT
//
// What the library decides about a backward pass on a device, before it builds phases.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planning/backward/band_choice.hpp"
#include "planning/backward/tile_lists.hpp"
#include "planning/decision.hpp"
#include "problem/backward.hpp"
#include "problem/strides.hpp"
#include "tiles/backward/backward_matrix_tile.hpp"
#include "tiles/backward/backward_sum_tile.hpp"
#include "tiles/backward/backward_tile.hpp"
#include "tiles/backward/backward_wgmma_tile.hpp"
#include "tiles/tuned_device.hpp"

namespace vkf {

// The tiles of the kernels that compute scores again. A tile without a workgroup means that none fits the device.
template <typename Tile> struct PairTiles {
    std::optional<Tile> rows; // writes dq
    std::vector<Tile> keys;   // one writes dk and dv, or one each
};

// Kernels that take turns, band by band: `store` stores ds, or p and ds, in scratch memory, and the others sum over
// them. `dk` and `dv` have no workgroup unless `store` stores p.
struct BandChoice {
    BackwardBands bands;
    BackwardMatrixTile store;
    BackwardSumTile dq, dk, dv;

    std::array<const BackwardSumTile*, 3> sums() const { return {&dq, &dk, &dv}; }
};

struct BackwardDecision {
    VkfPath path{};
    PathDecisions pathDecisions;           // on scalar, coopmat and wgmma
    TileShape tile;                        // the largest workgroup and the most shared memory of all kernels
    std::string rowTileText;               // tile of the kernel that writes dq; empty without it
    std::string keyTileText;               // tile of the kernel that writes dk and dv, or of one each; empty without it
    bool tuned = false;                    // the tuning data chose a tile
    MatrixLayout matrix;                   // empty without cooperative matrices
    VkfType productType = VKF_TYPE_F32;    // the type of products
    uint32_t inputAlignment = 1;           // bytes; q, k, v and dout need it besides the alignment of their elements
    PairTiles<BackwardTile> scalar;        // path scalar
    PairTiles<BackwardMatrixTile> coopmat; // path coopmat. With bands, or on path wgmma, they are a fallback.
    PairTiles<BackwardWgmmaTile> wgmma;    // path wgmma
    std::optional<BandChoice> bands;
    std::optional<BackwardTile> bias; // writes dbias
    std::optional<TileMapChoice> map; // of masks of single keys
    const char* whyNoMap = nullptr;   // with such masks and without a map
    std::vector<TileLists> lists;     // with a map
    bool sinks = false;               // dsinks is wanted and has elements

    uint32_t bandKeys() const { return bands ? bands->bands.tiles * bands->store.keys() : 0; }
    // With bands that store p and ds, nothing else writes dk and dv. With bands that store ds alone, the second tile of
    // keys writes dv.
    bool writesDvBesideBands() const { return bands && !bands->store.storesP && coopmat.keys.size() > 1; }
    // Whether the fallback writes dk and dv too.
    bool repeatsKeys() const { return path == VKF_PATH_WGMMA || (bands && bands->store.storesP); }
};

// Decides all of it. Errors say why the device cannot do the problem.
VkfResult decideBackward(const TunedDevice& device, const CheckedBackward& backward, BackwardDecision* decision,
                         VkfMessage* message);

// Whether a tensor of the forward or of the backward pass has a 16-bit type.
bool needsStorage16(const CheckedBackward& backward);

// Whether rows of all visited and owned tensors are whole words, and offsets within one tile fit 32 bits.
template <KernelTile Tile> bool hasWholeWords(const CheckedBackward& backward, const Tile& tile) {
    const VkfTensorLayout& dout = backward.layout(VKF_BACKWARD_DOUT);
    return hasWholeWords(backward.forward, tile) && inWholeWords(dout) &&
           byteStrides(dout).row <= max32 / std::max(tile.rows(), tile.keys()) - loadedWordBytes;
}

} // namespace vkf
