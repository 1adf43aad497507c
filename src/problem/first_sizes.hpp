// SPDX-License-Identifier: MIT
//
// The last field that each struct of problem.h, append_problem.h, merge_problem.h and backward_problem.h has in version
// 0.5.
#pragma once

#include <vkflash/append_problem.h>
#include <vkflash/backward_problem.h>
#include <vkflash/merge_problem.h>
#include <vkflash/problem.h>

#include "base/versioned.hpp"

namespace vkf {

VKF_FIRST_SIZE(VkfProblem, maxScratchBytes);
VKF_FIRST_SIZE(VkfTensorLayout, elements);
VKF_FIRST_SIZE(VkfBlockMaskLayout, words);
VKF_FIRST_SIZE(VkfAppendProblem, rotary);
VKF_FIRST_SIZE(VkfMergeProblem, lsePartialStride);
VKF_FIRST_SIZE(VkfMergeLayout, lseElements);
VKF_FIRST_SIZE(VkfBackwardProblem, reserved2);

} // namespace vkf
