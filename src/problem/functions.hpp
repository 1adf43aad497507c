// SPDX-License-Identifier: MIT
//
// The functions of the caller's own that a problem has (vkflash/functions.h).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <vkflash/problem.hpp>

#include "problem/functions/functions_file.hpp"

struct VkfFunctions_T {
    VkfFunctionSet functions = 0;
    std::vector<VkfFunctionArray> arrays;
    uint64_t key = 0;
    VkfGetKernel getKernel = nullptr;
    void* user = nullptr;
    std::unique_ptr<const vkf::FunctionsFile> file; // what getKernel reads, if vkfLoadFunctions made the object
};

namespace vkf {

inline bool hasFunction(const VkfProblem& p, VkfFunctionBits function) {
    return has(p, VKF_USE_FUNCTIONS) && (p.functions->functions & static_cast<VkfFunctionSet>(function)) != 0;
}

inline uint32_t functionArrayCount(const VkfProblem& p) {
    return has(p, VKF_USE_FUNCTIONS) ? static_cast<uint32_t>(p.functions->arrays.size()) : 0;
}

// Whether scores, m and partial results are in natural units, not in units of log2 (shaders/scores/units.glsl).
inline bool hasNaturalScores(const VkfProblem& p) { return has(p, VKF_USE_BIAS) || hasFunction(p, VKF_FUNCTION_SCORE); }

} // namespace vkf
