// SPDX-License-Identifier: MIT
//
// The probabilities of a problem, straight from the contract in fp64, and what may be expected of fp32.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/call.hpp"

namespace vkf::test {

// Largest difference to the fp64 probabilities and its bound: twice the largest error of two fp32 runs, with
// multiply-add in one rounding and in two, plus 4 units in the last place at the largest probability. The error is
// infinite where a dropped key's probability is not 0, or NaN does not stand where the fp64 run has it.
struct ProbabilitiesVerdict {
    double error = 0.0;
    double bound = 0.0;
    uint64_t worst = 0; // dense index of the largest error
    bool passed() const { return error <= bound; }
    std::string text() const;
};

ProbabilitiesVerdict judgeProbabilities(const VkfProblem& problem, const Inputs& inputs,
                                        const std::vector<float>& probabilities);

} // namespace vkf::test
