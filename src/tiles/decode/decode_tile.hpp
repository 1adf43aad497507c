// SPDX-License-Identifier: MIT
//
// The tile of the decode kernel without cooperative matrices (shaders/decode/attention_decode.comp).
#pragma once

#include <cstdint>
#include <string>

#include <vkflash/problem.h>

#include "tiles/kernel_tile.hpp"

namespace vkf {

// shaders/decode/attention_decode.comp explains the numbers.
struct DecodeTile {
    uint32_t groups = 0; // of lanes; 0 = no tile
    uint32_t lanes = 0;
    uint32_t threadRows = 0;
    uint32_t threadKeys = 0;
    uint32_t headDim = 0;
    uint32_t valueDim = 0;
    VkfType keyType{};
    VkfType valueType{};

    uint32_t workgroupSize() const { return groups * lanes; }
    uint32_t rows() const { return threadRows; }
    uint32_t keys() const { return groups * threadKeys; }
    uint32_t sharedBytes() const;
    // Registers of an invocation that hold parts of k, v, s and o.
    uint32_t registers() const;
    uint32_t outputRegisters() const; // those of o
    std::string text(uint32_t splits) const;
};

using DecodePlan = TilePlan<DecodeTile>;

} // namespace vkf
