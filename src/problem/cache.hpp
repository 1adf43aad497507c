// SPDX-License-Identifier: MIT
//
// Checks of a cache of k and v: its pages, and the blocks of a block type. Attention reads a cache, an append writes
// it.
#pragma once

#include <vkflash/problem.h>

namespace vkf {

// Checks VkfPaging, all but its reserved fields. `keys` is the number of keys of each sequence.
VkfResult checkPaging(const VkfPaging& paging, uint32_t keys, VkfMessage* message);

// Checks that rows and strides of a tensor of a block type are whole blocks. `name` is the tensor's name in messages.
VkfResult checkBlocks(const char* name, const VkfTensorLayout& layout, VkfMessage* message);

} // namespace vkf
