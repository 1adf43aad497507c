// SPDX-License-Identifier: MIT
//
// Strides of a tensor and how far they reach.
#pragma once

#include <vkflash/problem.h>

namespace vkf {

// Sets type and strides of *layout. Takes the strides of the tensor, or dense strides if all three are 0. The caller
// has set the shape of *layout.
void setStrides(const VkfTensor& tensor, VkfTensorLayout* layout);

// Computes the distance from the first element to one past the last one. Returns false if it is over 2^62 - 1 elements,
// because the bytes of more elements need not fit 64 bits.
bool reach(const VkfTensorLayout& layout, uint64_t* elements);

// Sufficient test that no two elements share an address. It is false for some layouts whose elements do not overlap,
// but interleave.
bool isInjective(const VkfTensorLayout& layout);

} // namespace vkf
