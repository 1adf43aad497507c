// SPDX-License-Identifier: MIT
//
// Tensors of the calls beside attention: their defaults and what can be wrong with them.
#pragma once

#include <vkflash/problem.h>

namespace vkf {

enum class TensorUse { input, output, cache }; // a cache may have block types

// Fills in strides and reach of *layout, whose shape the caller gives, from the tensor's description.
VkfResult layOut(const char* name, const VkfTensor& tensor, TensorUse use, VkfTensorLayout* layout,
                 VkfMessage* message);

} // namespace vkf
