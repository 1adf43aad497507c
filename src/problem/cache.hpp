// SPDX-License-Identifier: MIT
//
// What a cache of k and v may be made of, whether it is read or appended to: pages, and blocks of elements.
#pragma once

#include <vkflash/problem.h>

namespace vkf {

// `keys` are those of each sequence.
VkfResult checkPaging(const VkfPaging& paging, uint32_t keys, VkfMessage* message);

// That a tensor of a block type is made of whole blocks.
VkfResult checkBlocks(const char* name, const VkfTensorLayout& layout, VkfMessage* message);

} // namespace vkf
