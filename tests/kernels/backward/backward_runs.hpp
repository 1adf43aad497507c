// SPDX-License-Identifier: MIT
//
// One backward call under test. Guards surround every buffer, outputs are poisoned before the kernels run, and a
// verdict follows. The reference computes the forward pass: its kernels have tests of their own, and a third of the
// compile time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "reference/backward_cases.hpp"

namespace vkf::test {

// The gradients of one backward call, as bytes: the span of each tensor, gaps included. Empty if they are not wanted.
struct GradientOutputs {
    std::vector<std::byte> dq, dk, dv, dbias, dsinks;

    bool operator==(const GradientOutputs&) const = default;
};

struct BackwardOutcome {
    VkfBackwardVerdict verdict{};
    VkfBackwardInfo info{};
    GradientOutputs outputs;
    bool gapsIntact = false;   // bytes between the rows of dq, dk and dv still hold the poison
    bool guardsIntact = false; // bytes before and after each output and the scratch memory still hold the poison
    bool passed() const { return verdict.passed != 0 && gapsIntact && guardsIntact; }
    std::string text() const;
};

// What the library says of a backward pass. Throws host::Error if it refuses.
VkfBackwardInfo infoOf(host::Device& device, const VkfBackwardProblem& problem);

// Runs the backward pass on the device, without a verdict. `more` must have o and lse. Each `stepsAtOnce` steps are one
// submission; 0 = all of them. All bytes of scratch memory are `scratchByte` before.
BackwardOutcome runBackwardUnjudged(host::Device& device, const VkfBackwardProblem& problem, const Inputs& inputs,
                                    const BackwardInputs& more, uint32_t stepsAtOnce = 0,
                                    std::byte scratchByte = std::byte{0xff});

// Whether other runs give the bits of the first one: one run, or 100 in a whole sweep.
bool repeatsBits(host::Device& device, const VkfBackwardProblem& problem, const Inputs& inputs,
                 const BackwardInputs& more, const BackwardOutcome& first);

// Computes o and lse by the reference, runs the backward pass on the device, and compares it with the fp64 reference.
// Throws host::Error if the library refuses.
BackwardOutcome runBackward(host::Device& device, const VkfBackwardProblem& problem, const Inputs& inputs,
                            BackwardInputs more, uint32_t stepsAtOnce = 0);

} // namespace vkf::test
