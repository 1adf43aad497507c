// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "vkflash/host.hpp"
#include "vkflash/reference.h"

namespace vkf::tools {

// The inputs of a call as the reference takes them. `functions` has the formulas of the problem's functions.
VkfReferenceInputs referenceInputs(const host::HostTensors& tensors, const VkfReferenceFunctions* functions = nullptr);

// Compares o and lse with the fp64 reference on the CPU, with a progress bar. With sampleRows = 0 it checks every query
// row, else about that many evenly spread rows of each head. `functions` has the formulas of the problem's functions.
VkfVerdict verifyResult(const VkfProblem& problem, const host::HostTensors& tensors, const VkfPlanInfo& plan,
                        uint32_t sampleRows = 0, const VkfReferenceFunctions* functions = nullptr);

// Checks the probabilities of every row.
VkfProbabilitiesVerdict verifyProbabilities(const VkfProblem& problem, const host::HostTensors& tensors,
                                            const VkfPlanInfo& plan);

// Compares the wanted gradients with the fp64 reference. With sampleRows = 0 it checks everything, else about that many
// evenly spread rows of dq of each head and as many keys of dk and dv, and no dbias. `tensors` has o and lse of the
// forward pass.
VkfBackwardVerdict verifyGradients(const VkfBackwardProblem& problem, const host::HostTensors& tensors,
                                   const host::HostGradients& gradients, const VkfBackwardInfo& info,
                                   uint32_t sampleRows = 0, const VkfReferenceFunctions* functions = nullptr);

// "error 1.2e-05, bound 3.0e-05"
std::string errorText(double error, double bound);

// Error and bound of o, and of lse if there is one. One line each.
std::string verdictText(const VkfVerdict& verdict, bool lse);

// Error and bound of each gradient that was compared. One line each.
std::string verdictText(const VkfBackwardVerdict& verdict, const host::HostGradients& gradients);

// Throws ProgramError with the worst element if the verdict is not passed.
void requirePassed(const VkfVerdict& verdict, const std::string& what);
void requirePassed(const VkfProbabilitiesVerdict& verdict, const std::string& what);
void requirePassed(const VkfBackwardVerdict& verdict, const std::string& what);

} // namespace vkf::tools
