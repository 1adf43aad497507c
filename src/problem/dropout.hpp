// SPDX-License-Identifier: MIT
//
// Kernels and reference derive the threshold, the factor, and whether a seed is bound from VkfDropout.
#pragma once

#include <cstdint>

#include <vkflash/problem.hpp>

namespace vkf {

// Whether the call leaves out keys, by the generator or by a mask.
inline bool hasDropout(const VkfProblem& problem) {
    return problem.dropout.probability != 0.0F || has(problem, VKF_USE_DROPOUT_MASK);
}

// Whether the kernels read the seed from binding dropoutSeed. With a dropout mask they need no seed.
inline bool hasBoundSeed(const VkfProblem& problem) {
    return hasDropout(problem) && !has(problem, VKF_USE_DROPOUT_MASK) && has(problem, VKF_USE_DROPOUT_SEED);
}

// Returns floor(probability * 2^32). The generator leaves a key out if the key's number is less. The product is exact
// in fp64.
inline uint32_t dropoutThreshold(const VkfDropout& dropout) {
    return static_cast<uint32_t>(static_cast<double>(dropout.probability) * 0x1p32);
}

// Factor of the probabilities that are kept.
inline double dropoutScale(const VkfDropout& dropout) { return 1.0 / (1.0 - static_cast<double>(dropout.probability)); }

} // namespace vkf
