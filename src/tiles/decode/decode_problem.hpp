// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include <vkflash/problem.h>

#include "problem/problem.hpp"
#include "shared/attention_params.h"

namespace vkf {

// The facts of a problem that decide its tile on path decode. Rows of all query heads of a KV head are packed.
struct DecodeProblem {
    uint32_t headDim;
    uint32_t valueDim;
    VkfType keyType;
    VkfType valueType;
    uint64_t rows;             // packed rows of one KV head
    uint64_t kvHeads;          // of all sequences
    uint32_t keys;             // the most that one row can see
    uint32_t blockUnit = 1;    // words of 4 bytes in which rows of block types can be loaded
    bool keyOffsets32 = false; // k and v of a head have at most 4 GiB each, in whole words and without pages
    bool moreRows = false;     // `rows` is a mean, and some sequences have more
    bool chosenKeys = false;   // rows see the keys of a list

    // Heads that have a matrix kernel of their own.
    bool latent() const { return headDim > VKF_MAX_DIM || valueDim > VKF_MAX_DIM; }
    bool hasBlocks() const { return isBlockType(keyType) || isBlockType(valueType); }
    // Workgroups without splits.
    uint64_t workgroups(uint32_t tileRows) const { return (rows + tileRows - 1) / tileRows * kvHeads; }
};

} // namespace vkf
