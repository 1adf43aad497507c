// SPDX-License-Identifier: MIT
//
// A phase of a plan: one kernel over a range of work items.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "pipelines/variant.hpp"
#include "shared/attention_params.h"

namespace vkf {

// The memory that a kernel uses as its q, k, v or o. scratchState is (m, l) of each row, in a backward pass (lse,
// delta). scratchState, scratchLse, dequantizedK and dequantizedV lie inside the scratch memory (scratch.hpp). dout to
// keyStarts belong to the backward pass; the starts are those of packed sequences.
enum class Operand : uint32_t {
    none,
    q,
    k,
    v,
    o,
    lse,
    probabilities,
    scratch,
    scratchState,
    probabilityRows,
    scratchLse,
    dout,
    dlse,
    rowStarts,
    keyStarts,
    dequantizedK,
    dequantizedV
};
inline constexpr size_t operandCount = 17;

// One kernel over a range of work items. The items are divided into rounds of equal size, and a round into steps of at
// most itemsPerStep items. A barrier stands before each round.
struct Phase {
    Variant variant;
    std::array<Operand, 4> operands{}; // in the order of the kernel's push constants
    shared::CallParams params{};       // addresses and first_item left 0
    Operand lse = Operand::none;       // the memory of lse, if the kernel writes or reads it
    uint32_t items = 0;                // of all rounds
    uint32_t rounds = 1;
    uint32_t itemsPerStep = 0;
    // Whether a barrier stands before the phase. Without one, it runs at the same time as the phase before it.
    bool barrierBefore = true;
    // Interleaved with the phase before it, which has as many rounds: a round of that phase, then one of this phase.
    // barrierBefore then says whether a barrier stands between the two.
    bool interleaved = false;

    uint32_t itemsPerRound() const { return items / rounds; }
    // Divides before it adds: a step may have nearly as many items as 32 bits can count.
    uint32_t stepsPerRound() const {
        return itemsPerRound() / itemsPerStep + (itemsPerRound() % itemsPerStep != 0 ? 1 : 0);
    }
    uint32_t steps() const { return rounds * stepsPerRound(); }
};

// Steps of all phases.
uint32_t stepsOf(const std::vector<Phase>& phases);

} // namespace vkf
