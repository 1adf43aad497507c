// SPDX-License-Identifier: MIT
//
// The last field that each struct of problem.h, append.h and merge.h has in version 0.2, and that of gradient.h in
// version 0.4.
#pragma once

#include <vkflash/append.h>
#include <vkflash/gradient.h>
#include <vkflash/merge.h>
#include <vkflash/problem.h>

#include "base/versioned.hpp"

namespace vkf {

VKF_FIRST_SIZE(VkfProblem, dropout);
VKF_FIRST_SIZE(VkfTensorLayout, elements);
VKF_FIRST_SIZE(VkfBlockMaskLayout, words);
VKF_FIRST_SIZE(VkfAppendProblem, rotary);
VKF_FIRST_SIZE(VkfMergeProblem, lsePartialStride);
VKF_FIRST_SIZE(VkfMergeLayout, lseElements);
VKF_FIRST_SIZE(VkfGradientProblem, reserved2);

} // namespace vkf
