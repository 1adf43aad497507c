// SPDX-License-Identifier: MIT
//
// Checks the tensors of merges and appends, and fills in their layouts.
#pragma once

#include <vkflash/problem.h>

namespace vkf {

// An input may repeat elements, by strides of 0. Elements of an output or a cache must not overlap. Only a cache may
// have a block type.
enum class TensorUse { input, output, cache };

// Fills in type, strides and reach of *layout from `tensor`. The caller has set the shape of *layout.
VkfResult layOut(const char* name, const VkfTensor& tensor, TensorUse use, VkfTensorLayout* layout,
                 VkfMessage* message);

} // namespace vkf
