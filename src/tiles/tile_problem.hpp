// SPDX-License-Identifier: MIT
//
// What of a checked problem decides its tile, and how much a tile has to do.
#pragma once

#include <cstdint>

#include "problem/problem.hpp"
#include "tiles/scalar_tile.hpp"

namespace vkf {

// Query heads whose rows a path packs into the same tiles.
uint32_t packedHeads(VkfPath path, const CheckedProblem& problem);

// Whether workgroups of a path walk over the keys' tiles, each for its tile of query rows: paths scalar and coopmat.
bool walksTiles(VkfPath path);

// Of so many packed heads' rows of one sequence; of packed sequences the slots, which are those of all.
uint64_t tilesOfRows(const CheckedProblem& problem, uint32_t packedHeads, uint32_t tileRows);

TileProblem tileProblem(VkfPath path, const CheckedProblem& problem);

// Most keys that one row of a tile of so many rows may see; with no rows, that one row alone may see.
double widestRow(const CheckedProblem& problem, uint32_t tileRows = 0);

// Of one workgroup of a fused kernel, at most.
double tileOperations(const CheckedProblem& problem, uint32_t tileRows);

} // namespace vkf
