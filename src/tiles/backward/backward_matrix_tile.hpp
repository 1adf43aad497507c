// SPDX-License-Identifier: MIT
//
// Tile choice of the backward pass on path coopmat. It depends on plain data alone: a device and a problem.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/matrix_layout.hpp"
#include "tiles/backward/backward_tile.hpp"

namespace vkf {

// shaders/backward_coopmat/backward_coopmat.comp explains the numbers.
struct BackwardMatrixTile {
    MatrixLayout layout;
    BackwardOwner owner{};       // rows or keys
    uint32_t subgroups = 0;      // 0 = no tile
    uint32_t ownedMatrices = 0;  // matrices of rows or keys that a subgroup owns
    uint32_t steps = 0;          // of a visited tile
    bool twoStages = false;      // shared memory has two visited tiles
    uint32_t depthSubgroups = 1; // that share owned rows or keys, and divide the columns of all tensors
    uint32_t headDim = 0;
    uint32_t valueDim = 0;
    bool dqOrDk = false; // dq or dk
    bool dv = false;     // dv
    bool dropout = false;
    bool storesP = false; // it stores p and ds, and makes no sums
    bool tuned = false;   // tuning data chose the tile

    bool makesDqOrDk() const { return dqOrDk; }
    bool makesDv() const { return dv; }
    bool needsDp() const { return owner != BackwardOwner::keys || dqOrDk || storesP; }
    uint32_t workgroupSize() const { return subgroups * layout.lanes; }
    uint32_t owned() const { return subgroups / depthSubgroups * ownedMatrices * layout.rows; }
    uint32_t visited() const;
    uint32_t rows() const { return owner == BackwardOwner::keys ? visited() : owned(); }
    uint32_t keys() const { return owner == BackwardOwner::keys ? owned() : visited(); }
    uint32_t sharedBytes() const;
    // Registers of an invocation that hold owned operands, sums, pairs of a step, and words in flight.
    uint32_t registers() const;
    std::string text(uint32_t splits) const;
};

// Fills *considered, unless null. A tile without a workgroup says that the device has too little shared memory.
BackwardMatrixTile chooseBackwardMatrixTile(const TunedDevice& device, const MatrixLayout& layout,
                                            const BackwardTileProblem& problem, ConsideredTiles* considered = nullptr);

// The tiles of the kernels that write dk and dv: one for both if an invocation has registers for both sums, else one
// each. Tuning data may decide that. sameKeys: both then own the same number of keys.
std::vector<BackwardMatrixTile> chooseKeyMatrixTiles(const TunedDevice& device, const MatrixLayout& layout,
                                                     const BackwardTileProblem& problem, bool sameKeys);

} // namespace vkf
