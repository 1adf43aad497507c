// SPDX-License-Identifier: MIT
//
// What follows from a dropout's probability, for the kernels and for the reference.
#pragma once

#include <cstdint>

#include <vkflash/problem.hpp>

namespace vkf {

inline bool hasDropout(const VkfProblem& problem) {
    return problem.dropout.probability != 0.0F || has(problem, VKF_ARRAY_DROPOUT_MASK);
}

// Whether the seed is one that is bound, in the place of the problem's own: a mask needs none.
inline bool hasBoundSeed(const VkfProblem& problem) {
    return hasDropout(problem) && !has(problem, VKF_ARRAY_DROPOUT_MASK) && has(problem, VKF_ARRAY_DROPOUT_SEED);
}

// Keys with smaller numbers are left out: floor(probability 2^32), which fp64 holds exactly.
inline uint32_t dropoutThreshold(const VkfDropout& dropout) {
    return static_cast<uint32_t>(static_cast<double>(dropout.probability) * 0x1p32);
}

inline double dropoutScale(const VkfDropout& dropout) { return 1.0 / (1.0 - static_cast<double>(dropout.probability)); }

} // namespace vkf
