// SPDX-License-Identifier: MIT
//
// Makes single phases of a plan. It does what the kernels of the forward and the backward pass have in common: the
// variant, the push constants and the steps.
#pragma once

#include <array>
#include <cstdint>

#include "device/caps.hpp"
#include "device/matrix_layout.hpp"
#include "planning/phase.hpp"
#include "problem/problem.hpp"
#include "problem/strides.hpp"

namespace vkf {

// A tensor of a phase. Memory without strides has none.
struct PhaseTensor {
    Operand operand{};
    ByteStrides strides{};
    const char* name = ""; // in messages
};

// A phase of `items` work items of at most `operations` each.
struct PhaseRequest {
    Kernel kernel{};
    std::array<PhaseTensor, 4> tensors{}; // in the order of the kernel's push constants
    bool has16Bits = false;               // a tensor has a 16-bit type
    uint64_t items = 0;
    double operations = 0;
};

// The functions of the problem, if the kernel takes functions.
KernelFunctions kernelFunctions(Kernel kernel, const VkfProblem& problem);

class PhaseBuilder {
public:
    const Caps& caps() const { return caps_; }
    // The problem of the forward pass.
    const CheckedProblem& problem() const { return problem_; }
    // Query heads of all sequences.
    uint64_t heads() const { return uint64_t{tensorSequences(problem_.fields)} * problem_.fields.queryHeads; }

protected:
    // `caps`, `problem` and `matrix` must live as long as the builder. `matrixElements` is the type of the elements of
    // matrices.
    PhaseBuilder(const Caps& caps, const CheckedProblem& problem, const MatrixLayout& matrix, VkfType matrixElements)
        : caps_(caps), problem_(problem), matrix_(matrix), matrixElements_(matrixElements) {}

    // Makes a phase without its specialization constants, which depend on *strideShift.
    VkfResult make(const PhaseRequest& request, Phase* phase, uint32_t* strideShift, VkfMessage* message) const;

private:
    Variant variantOf(const PhaseRequest& request) const;
    uint32_t itemsPerStep(const PhaseRequest& request) const;

    const Caps& caps_;
    const CheckedProblem& problem_;
    const MatrixLayout& matrix_;
    VkfType matrixElements_;
};

} // namespace vkf
