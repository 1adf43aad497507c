// SPDX-License-Identifier: MIT
//
// Path coopmat with k and v of block types: the phase that converts them to the type of the matrices before attention
// (shaders/coopmat/dequantize_keys.comp). The attention kernel then reads dense 16-bit tensors in scratch memory.
#pragma once

#include "planning/decision.hpp"
#include "problem/problem.hpp"

namespace vkf {

// Whether path coopmat converts k and v before attention. Depends on the problem alone.
bool dequantizesKeys(const CheckedProblem& problem);

// The problem that the attention kernel then computes: k and v are dense, of the type of the matrices, without pages.
CheckedProblem dequantizedProblem(const CheckedProblem& problem);

// What the phase that converts them needs. The decision has the tile and how rows are loaded.
DequantizedKeys dequantizedKeys(const CheckedProblem& original, const CheckedProblem& dequantized,
                                const Decision& decision);

} // namespace vkf
