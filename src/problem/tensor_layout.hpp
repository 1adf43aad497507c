// SPDX-License-Identifier: MIT
//
// Strides of a tensor and what they reach.
#pragma once

#include <vkflash/problem.h>

namespace vkf {

// Type and strides of *layout, whose shape the caller gives: those of the tensor, or where all are 0 those of a tensor
// without gaps.
void setStrides(const VkfTensor& tensor, VkfTensorLayout* layout);

// Distance from the first element to one past the last, false if it passes 2^62 - 1 elements: the bytes of more would
// not fit 64 bits.
bool reach(const VkfTensorLayout& layout, uint64_t* elements);

// Whether no two elements share an address.
bool isInjective(const VkfTensorLayout& layout);

} // namespace vkf
