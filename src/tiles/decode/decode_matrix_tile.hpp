// SPDX-License-Identifier: MIT
//
// The tile of the decode kernel on cooperative matrices (shaders/decode_matrix/attention_decode_matrix.comp).
#pragma once

#include <cstdint>
#include <string>

#include <vkflash/problem.h>

#include "device/matrix_layout.hpp"
#include "tiles/kernel_tile.hpp"

namespace vkf {

// shaders/decode_matrix/tile.glsl explains the numbers.
struct DecodeMatrixTile {
    MatrixLayout layout;
    uint32_t columns = 0;      // of a result
    uint32_t rowMatrices = 0;  // matrices of packed rows of a subgroup
    uint32_t rowSubgroups = 0; // 0 = no tile
    uint32_t keySubgroups = 0;
    uint32_t laneRows = 0; // rows of one invocation that may exist
    uint32_t headDim = 0;
    uint32_t valueDim = 0;
    VkfType keyType{};
    VkfType valueType{};
    uint32_t blockUnit = 1;
    bool keyOffsets32 = false;
    uint32_t keyColumns = 1; // columns of v that a matrix has of each key

    uint32_t workgroupSize() const { return rowSubgroups * keySubgroups * layout.lanes; }
    uint32_t rows() const { return rowSubgroups * rowMatrices * matrixPackedRows(); }
    uint32_t keys() const { return keySubgroups * layout.rows; }
    bool splitsColumnPairs() const { return keyColumns == 2 && !layout.pairsInLane(); }
    uint32_t matrixPackedRows() const; // packed rows that one matrix takes
    // Packed rows from one row of an invocation to its next one: those of all invocations that share a key.
    uint32_t laneRowStride() const;
    uint32_t stagedWordsOfP() const; // words of 4 bytes of p that a subgroup has in shared memory
    uint32_t sharedBytes() const;
    // Registers of an invocation that hold parts of q, k, v, s and o.
    uint32_t registers() const;
    std::string text(uint32_t splits) const;
};

using DecodeMatrixPlan = TilePlan<DecodeMatrixTile>;

} // namespace vkf
