// SPDX-License-Identifier: MIT
//
// The phases of an attention call by their purpose, and the functions that make them.
#pragma once

#include <optional>
#include <vector>

#include "planning/build/attention_phase_builder.hpp"
#include "planning/phase.hpp"
#include "planning/plan.hpp"
#include "planning/scratch.hpp"

namespace vkf {

struct AttentionPhases {
    std::optional<Phase> table;          // writes the table of optional inputs
    std::optional<Phase> sequences;      // lists the sequence of each tile
    std::optional<Phase> dequantizeKeys; // converts k and v of block types
    std::optional<Phase> tileMap;        // makes the map of tiles
    std::optional<Phase> tileOrder;      // puts its tiles of rows in order
    std::vector<Phase> attention;        // one, or one for each class of rows; on path standard S, softmax and P v
    std::optional<Phase> finish;         // merges key splits, or divides the rows of path key_outer
    std::optional<Phase> fallback;       // repeats a call of fp32 numbers that have no parts
    std::optional<Phase> probabilities;  // makes them from lse
};

// The phases in the order in which they run, with the barriers between them.
std::vector<Phase> inOrder(AttentionPhases&& phases);

// Each adds phases of one purpose, and reserves the scratch memory that they bring.
VkfResult buildFused(const AttentionPhaseBuilder& builder, AttentionPhases* phases, Scratch* scratch,
                     VkfMessage* message);
VkfResult buildKeyOuter(const AttentionPhaseBuilder& builder, AttentionPhases* phases, Scratch* scratch,
                        VkfMessage* message);
VkfResult buildStandard(const AttentionPhaseBuilder& builder, AttentionPhases* phases, Scratch* scratch,
                        VkfMessage* message);
VkfResult buildFallback(const AttentionPhaseBuilder& builder, AttentionPhases* phases, VkfMessage* message);
VkfResult buildProbabilities(const AttentionPhaseBuilder& builder, AttentionPhases* phases, Scratch* scratch,
                             VkfMessage* message);
VkfResult buildDequantizedKeys(const AttentionPhaseBuilder& builder, AttentionPhases* phases, Scratch* scratch,
                               VkfMessage* message);
// Reserves no scratch memory. `phases` must have the attention phase, which becomes one for each class of rows.
TileMapMemory buildTileMap(const AttentionPhaseBuilder& builder, AttentionPhases* phases);

} // namespace vkf
