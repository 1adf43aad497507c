// SPDX-License-Identifier: MIT
//
// The phases of a backward pass by their purpose, and the functions that make them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "planning/backward/backward_plan.hpp"
#include "planning/kernel_parameters.hpp"
#include "planning/phase_builder.hpp"

namespace vkf {

struct BackwardPhases {
    std::optional<Phase> table;        // writes the table of the call
    std::optional<Phase> tileMap;      // makes the map of tiles
    std::vector<Phase> tileLists;      // make lists from it
    std::optional<Phase> keySequences; // lists the sequence of each tile of keys
    std::optional<Phase> rowSequences; // and of rows
    std::optional<Phase> rowState;     // writes lse and delta of each row
    std::vector<Phase> bands;          // store ds, or p and ds, and sum over them, in turns
    std::vector<Phase> pairs;          // compute scores again, and write dq, dk and dv
    std::vector<Phase> fallback;       // the same, if stored pairs cannot give the sums
    std::vector<Phase> others;         // write dbias and dsinks

    bool writeGradients() const { return !bands.empty() || !pairs.empty() || !others.empty(); }
};

// The phases in the order in which they run, with the barriers between them.
std::vector<Phase> inOrder(BackwardPhases&& phases);

// Makes single phases of a backward pass from the decision.
class BackwardPhaseBuilder : public PhaseBuilder {
public:
    // The arguments must live as long as the builder.
    BackwardPhaseBuilder(const Caps& caps, const CheckedBackward& backward, const BackwardDecision& decision)
        : PhaseBuilder(caps, backward.forward, decision.matrix, decision.productType), backward_(backward),
          decision_(decision) {}

    const CheckedBackward& backward() const { return backward_; }
    const CheckedProblem& forward() const { return backward_.forward; }
    const BackwardDecision& decision() const { return decision_; }

    // Makes a phase of `items` work items of at most `operations` each.
    VkfResult make(Kernel kernel, const Constants& ofTile, const std::array<PhaseTensor, 4>& tensors, uint64_t items,
                   double operations, Phase* phase, VkfMessage* message) const;

    // The phase of a kernel that computes scores again.
    VkfResult makePairs(const BackwardTile& tile, uint64_t items, double operations, Phase* phase,
                        VkfMessage* message) const;
    VkfResult makePairs(const BackwardMatrixTile& tile, uint64_t items, double operations, Phase* phase,
                        VkfMessage* message) const;
    VkfResult makePairs(const BackwardWgmmaTile& tile, uint64_t items, double operations, Phase* phase,
                        VkfMessage* message) const;

    // The phase of the kernel that makes dq, dk or dv from stored p and ds.
    VkfResult makeSums(const BackwardSumTile& tile, bool writesDv, uint64_t items, double operations, Phase* phase,
                       VkfMessage* message) const;

    // Fails where no tile fits the device.
    VkfResult requireTile(uint32_t workgroupSize, VkfMessage* message) const;

private:
    // Chooses the kernel with lists if there is a map. Kernels with functions have lists of their own.
    Kernel listedIfMapped(Kernel kernel, Kernel listed) const;
    std::array<PhaseTensor, 4> pairTensors() const;
    template <KernelTile Tile>
    VkfResult makePairs(Kernel kernel, const Tile& tile, Constants constants, uint64_t items, double operations,
                        Phase* phase, VkfMessage* message) const;

    const CheckedBackward& backward_;
    const BackwardDecision& decision_;
};

// A kernel that owns rows, and one that owns keys. They fill in the tiles of packed sequences.
template <KernelTile Tile>
VkfResult buildRows(const BackwardPhaseBuilder& builder, const Tile& tile, TileSequences* tileSequences, Phase* phase,
                    VkfMessage* message);
template <KernelTile Tile>
VkfResult buildKeys(const BackwardPhaseBuilder& builder, const Tile& tile, TileSequences* tileSequences, Phase* phase,
                    VkfMessage* message);

// Adds the phases that make the map of tiles and its lists, and reserves their memory.
VkfResult buildMap(const BackwardPhaseBuilder& builder, BackwardPlan* plan, BackwardPhases* phases,
                   VkfMessage* message);

// Adds the phases that take turns, band by band, and reserves the memory of their pairs and sums.
VkfResult buildBands(const BackwardPhaseBuilder& builder, BackwardPhases* phases, Scratch* scratch,
                     VkfMessage* message);

} // namespace vkf
