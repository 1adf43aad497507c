// SPDX-License-Identifier: MIT
//
// Measures the backward pass of one shape: times and check. A time counts only if the result of the same run is right.
#ifndef VKFLASH_TOOLS_GRADIENT_MEASURE_HPP
#define VKFLASH_TOOLS_GRADIENT_MEASURE_HPP

#include <functional>

#include "measure/gradient/gradient_memory.hpp"
#include "measure/problem_measure.hpp"

namespace vkf::tools {

struct GradientResult {
    VkfProblem problem{}; // of the forward pass
    VkfBackwardInfo info{};
    double operations = 0; // for the rate; the info's number unless the caller replaces it
    Timing timing;
    bool oneSubmission = false; // all steps of a run are one submission, as applications record them
    size_t sets = 0;
    uint64_t tensorBytes = 0; // bytes of one set
    VkfBackwardVerdict verdict{};

    double teraflops() const { return operations / timing.median * 1e-12; }
};

// Measures dq, dk and dv together. `forward` has the path of the backward pass. Calls afterRun after each of many runs.
// Throws what creating and running throw. The caller judges the verdict. Throws ProgramError if o or lse is wrong.
GradientResult measureGradient(host::Device& device, GpuClock& clock, GradientMemory& memory, const VkfProblem& forward,
                               const MeasureOptions& options, const std::function<void()>& afterRun);

// The gradient that is nearest to its bound, or the furthest above it.
const VkfGradientError& worstOf(const VkfBackwardVerdict& verdict);

} // namespace vkf::tools

#endif
