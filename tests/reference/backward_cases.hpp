// SPDX-License-Identifier: MIT
//
// Backward calls for tests: random inputs, the CPU reference's gradients as vectors, and a table of problems that has
// every feature with a gradient.
#pragma once

#include <span>
#include <vector>

#include <vkflash/reference.h>

#include "support/call.hpp"

namespace vkf::test {

// One backward problem. It points at a forward problem that must outlive it.
VkfBackwardProblem backwardOf(const VkfProblem& forward, VkfGradients gradients = 0);

// The gradients that the problem's arrays allow: q, k, v, and with a bias or sinks those too.
VkfGradients allGradients(const VkfProblem& forward);

// Inputs of a backward call on the host. Gaps between rows of dout hold NaN.
struct BackwardInputs {
    std::vector<std::byte> dout;
    std::vector<float> dlse{};  // if the problem has it
    std::vector<std::byte> o{}; // as VkfProblem::o says; empty = the reference computes it
    std::vector<float> lse{};   // dense; empty = the reference computes it
    VkfReferenceBackwardInputs reference() const;
};
BackwardInputs makeBackwardInputs(const VkfBackwardProblem& problem, uint32_t seed = 1, double magnitude = 1.0);

// Fills in o and lse as the fp32 algorithm computes them: a stand-in for the outputs of a kernel.
void computeForward(const VkfProblem& forward, const Inputs& inputs, VkfType productType, BackwardInputs* to);

// Gradients in fp64. Vectors of gradients that are not wanted are empty.
struct Gradients {
    std::vector<double> dq{};
    std::vector<double> dk{};
    std::vector<double> dv{};
    std::vector<double> dbias{}; // indexed like the bias
    std::vector<double> dsinks{};
};
Gradients referenceBackward(const VkfBackwardProblem& problem, const Inputs& inputs, const BackwardInputs& more,
                            const VkfReferenceOptions& options);

// A small problem with one feature, or with several. The problem may be of any type.
struct BackwardCase {
    const char* name;
    Shape shape;
    void (*change)(VkfProblem&, Data&);
    bool hasDlse = false;
};
std::span<const BackwardCase> backwardCases();

// Fewer problems, with the features of backwardCases together. Each has kernels of its own, and drivers that compile
// for a CPU take seconds for these.
std::span<const BackwardCase> combinedBackwardCases();

} // namespace vkf::test
