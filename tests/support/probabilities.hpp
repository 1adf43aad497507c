// SPDX-License-Identifier: MIT
//
// The probabilities of a problem in fp64, directly by the contract, and the error that fp32 may have.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/call.hpp"

namespace vkf::test {

// Largest difference to the fp64 probabilities, and its bound. The bound is twice the largest error of two fp32 runs,
// plus 4 units in the last place at the largest probability. One run rounds a multiply-add once, the other twice. The
// error is infinite if a dropped key's probability is not 0, or if NaN is not where the fp64 run has it.
struct ProbabilitiesVerdict {
    double error = 0.0;
    double bound = 0.0;
    uint64_t worst = 0; // dense index of the largest error
    bool passed() const { return error <= bound; }
    std::string text() const;
};

ProbabilitiesVerdict judgeProbabilities(const VkfProblem& problem, const Inputs& inputs,
                                        const std::vector<float>& probabilities);

// The rows whose probabilities a call wants. Every fourth number is not a row: just outside, or far away. Its own
// generator keeps the other inputs unchanged.
std::vector<int32_t> randomProbabilityRows(const VkfProblem& problem, uint32_t seed);

} // namespace vkf::test
