// SPDX-License-Identifier: MIT
//
// Makes single phases of an attention call from the decision.
#pragma once

#include <array>
#include <cstdint>

#include "planning/decision.hpp"
#include "planning/phase_builder.hpp"

namespace vkf {

class AttentionPhaseBuilder : public PhaseBuilder {
public:
    // The arguments must live as long as the builder.
    AttentionPhaseBuilder(const Caps& caps, const CheckedProblem& problem, const Decision& decision)
        : PhaseBuilder(caps, problem, decision.matrix, decision.matrixElements), decision_(decision) {}

    const Decision& decision() const { return decision_; }

    // Sets the layout of Operand::scratch.
    void setScratchLayout(const VkfTensorLayout& layout) { scratch_ = layout; }

    // Makes a phase of `items` work items of at most `operations` each. `constants` are those of the kernel's tile.
    VkfResult make(Kernel kernel, const Constants& constants, const std::array<Operand, 4>& operands, uint64_t items,
                   double operations, Phase* phase, VkfMessage* message) const;

    // Makes a phase that finishes rows write lse, if anything reads it.
    void writeLse(Phase* phase) const;

    // The operands that the attention kernel reads as q, k and v, and `output`.
    std::array<Operand, 4> attentionOperands(Operand output) const;

    // Row tiles of all heads. For packed sequences it is the number of tiles that they may have, which can be higher.
    uint64_t rowTiles() const;
    uint64_t rows() const { return heads() * problem().fields.queryRows; }

private:
    Constants constantsOf(const Phase& phase, const Constants& ofTile, uint32_t strideShift) const;
    // The tensor that an operand stands for. Null for operands that are not q, k, v, o, or converted k and v.
    const VkfTensorLayout* tensorOf(Operand operand) const;
    ByteStrides operandStrides(Operand operand) const;

    const Decision& decision_;
    VkfTensorLayout scratch_{};
};

} // namespace vkf
