// SPDX-License-Identifier: MIT
//
// The numbers of attention problems and backward problems, and problems in which tests change them.
#pragma once

#include <vector>

#include "calls/counts.hpp"

namespace vkf::test {

const std::vector<Count<VkfProblem>>& attentionCounts();
// One problem for each group of fields, and some at the limits.
std::vector<VkfProblem> attentionBases();

// A backward problem and its forward problem. VkfBackwardProblem points at one.
struct Backward {
    VkfProblem forward;
    VkfBackwardProblem own;

    VkfBackwardProblem problem() const {
        VkfBackwardProblem whole = own;
        whole.forward = &forward;
        return whole;
    }
};

const std::vector<Count<Backward>>& backwardCounts();
std::vector<Backward> backwardBases();

} // namespace vkf::test
