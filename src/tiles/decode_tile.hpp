// SPDX-License-Identifier: MIT
//
// Tile and splits of the decode kernel, as a pure function of what a device is and what is asked.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include <vkflash/problem.h>

#include "device/caps.hpp"
#include "shared/attention_params.h"
#include "tiles/tile_search.hpp"

namespace vkf {

// What of a problem decides its tile. Rows are packed: those of all query heads of a KV head.
struct DecodeProblem {
    uint32_t headDim;
    uint32_t valueDim;
    VkfType keyType;
    VkfType valueType;
    uint64_t rows;          // packed, of one KV head
    uint64_t kvHeads;       // of all sequences
    uint32_t keys;          // that a row may see at most
    uint32_t blockUnit = 1; // words of 4 bytes in which rows of block types can be loaded
    bool moreRows = false;  // `rows` is a mean: some sequences have more

    // Of heads that take a kernel of their own on matrices.
    bool wide() const { return headDim > VKF_MAX_DIM || valueDim > VKF_MAX_DIM; }
    // Of k and v in no block type.
    bool plain() const;
};

// shaders/decode/decode_tile.glsl tells what the numbers mean.
struct DecodeTile {
    uint32_t workgroupSize = 0; // 0 = no tile
    uint32_t lanes = 0;
    uint32_t threadRows = 0;
    uint32_t threadKeys = 0;
    uint32_t headDim = 0;
    uint32_t valueDim = 0;
    VkfType keyType{};
    VkfType valueType{};

    uint32_t rows() const { return threadRows; }
    uint32_t keys() const { return workgroupSize / lanes * threadKeys; }
    uint32_t sharedBytes() const;
    // 32-bit registers that hold an invocation's part of k, v, s and o.
    uint32_t registers() const;
};

// A tile, and into how many parts the keys are split for it.
struct DecodePlan {
    DecodeTile tile;
    uint32_t splits = 1;
};

// The tile of the decode kernel on cooperative matrices; shaders/decode/decode_matrix_tile.glsl tells what the numbers
// mean.
struct DecodeMatrixTile {
    MatrixLayout layout;
    uint32_t columns = 0;      // of a matrix: the query rows that it takes
    uint32_t rowTiles = 0;     // matrices of query rows of a subgroup
    uint32_t rowSubgroups = 0; // 0 = no tile
    uint32_t keySubgroups = 0;
    uint32_t states = 0; // query rows of an invocation that may exist
    uint32_t headDim = 0;
    uint32_t valueDim = 0;
    VkfType keyType{};
    VkfType valueType{};
    uint32_t blockUnit = 1;

    uint32_t workgroupSize() const { return rowSubgroups * keySubgroups * layout.lanes; }
    uint32_t rows() const { return rowSubgroups * rowTiles * columns; }
    uint32_t keys() const { return keySubgroups * layout.rows; }
    uint32_t sharedBytes() const;
    // 32-bit registers that hold an invocation's part of q, k, v, s and o.
    uint32_t registers() const;
};

struct DecodeMatrixPlan {
    DecodeMatrixTile tile;
    uint32_t splits = 1;
};

// The tile of the decode kernel for wide heads; shaders/decode/attention_decode_wide.comp tells what the numbers mean.
struct DecodeWideTile {
    MatrixLayout layout;      // its shape alone counts
    uint32_t keyMatrices = 0; // 0 = no tile
    uint32_t headDim = 0;
    uint32_t valueDim = 0;

    // Two scores of the tile for each invocation.
    uint32_t depthSubgroups() const { return layout.elements() / 2; }
    uint32_t subgroups() const { return keyMatrices * depthSubgroups(); }
    uint32_t workgroupSize() const { return subgroups() * layout.lanes; }
    uint32_t rows() const { return layout.rows; }
    uint32_t keys() const { return keyMatrices * layout.depth; }
    uint32_t sharedBytes() const;
    // 32-bit registers that hold an invocation's part of q, k, s and o.
    uint32_t registers() const;
};

struct DecodeWidePlan {
    DecodeWideTile tile;
    uint32_t splits = 1;
};

// On cooperative matrices where that is better and the device can; a DecodePlan without a tile if there is none.
// layout is null where the problem cannot be on matrices. Fills *considered, unless null.
using DecodeChoice = std::variant<DecodePlan, DecodeMatrixPlan, DecodeWidePlan>;
DecodeChoice chooseDecodeTile(const Caps& caps, const MatrixLayout* layout, const DecodeProblem& problem,
                              ConsideredTiles* considered = nullptr);

std::string tileText(const DecodeTile& tile, uint32_t splits);
std::string tileText(const DecodeMatrixTile& tile, uint32_t splits);
std::string tileText(const DecodeWideTile& tile, uint32_t splits);

// Into how many parts the keys of `items` row tiles are split, each part a tile of keys at least, where `slots`
// workgroups run at a time.
uint32_t chooseDecodeSplits(uint64_t items, uint32_t keys, uint32_t tileKeys, uint64_t slots);

} // namespace vkf
