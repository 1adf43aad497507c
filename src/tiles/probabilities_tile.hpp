// SPDX-License-Identifier: MIT
//
// Tile choice of the kernel that writes the probabilities (shaders/scalar/attention_probabilities.comp).
#pragma once

#include <cstdint>
#include <string>

#include "device/caps.hpp"
#include "tiles/kernel_tile.hpp"

namespace vkf {

// A ScalarTile (scalar_tile.hpp) without v and o.
struct ProbabilitiesTile {
    uint32_t groups = 0; // of lanes; 0 = no tile
    uint32_t lanes = 0;
    uint32_t threadRows = 0;
    uint32_t threadKeys = 0;
    uint32_t chunkDim4 = 0;

    uint32_t workgroupSize() const { return groups * lanes; }
    uint32_t rows() const { return groups * threadRows; }
    uint32_t keys() const { return lanes * threadKeys; }
    uint32_t sharedBytes() const;
    // Registers of an invocation that hold a part of s and the fragments that are multiplied.
    uint32_t registers() const;
    std::string text(uint32_t splits) const;
};

// `rows` is the number of rows whose probabilities are written.
ProbabilitiesTile chooseProbabilitiesTile(const Caps& caps, uint32_t rows);

} // namespace vkf
