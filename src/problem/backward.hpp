// SPDX-License-Identifier: MIT
//
// CheckedBackward: a checked backward problem with its defaults filled in.
#pragma once

#include <array>
#include <cstdint>

#include <vkflash/backward_problem.h>

#include "problem/problem.hpp"

namespace vkf {

// Indexed by VkfBackwardRole.
using BackwardLayouts = std::array<VkfTensorLayout, 4>;

struct CheckedBackward {
    // With defaults filled in: `gradients` is not 0; `problem` is null, because `forward` replaces it.
    VkfBackwardProblem fields;
    CheckedProblem forward;  // a copy of the problem of the forward call
    BackwardLayouts layouts; // dense for gradients that are not wanted
    // Elements of dbias, from the first one to one past the last one that is written. 0 without VKF_GRADIENT_BIAS.
    uint64_t biasElements;

    const VkfTensorLayout& layout(VkfBackwardRole role) const { return layouts[static_cast<size_t>(role)]; }
    bool wants(VkfGradientBits gradient) const { return (fields.gradients & static_cast<VkfGradients>(gradient)) != 0; }
};

// Returns the bytes of dlse, dbias or dsinks. 0 for other arrays, and without the array.
uint64_t arrayBytes(const CheckedBackward& backward, VkfArray array);

// Checks everything that needs no device. Fills *checked on success.
VkfResult checkBackward(const VkfBackwardProblem* problem, CheckedBackward* checked, VkfMessage* message);

} // namespace vkf
