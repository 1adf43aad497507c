// SPDX-License-Identifier: MIT
//
// Stores k and v as caches do: their types may differ from the type of q, and they may be in pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "vkflash/host.hpp"

namespace vkf::tools {

// The block table of a problem with paging: all its pages, shuffled. Equal problems get equal tables. Empty without
// paging.
std::vector<int32_t> shuffledPages(const VkfProblem& problem);

// Lists of chosen keys for a problem that has them: each has keys of all parts of the sequence, in no order. Equal
// problems get equal lists. Empty without lists.
std::vector<int32_t> scatteredKeys(const VkfProblem& problem);

// Converts k or v to the type, the strides and the pages of the problem. `from` is the layout of `elements`, of a type
// that is not a block type.
// The rest of a page after the last key is NaN.
std::vector<std::byte> toCache(const VkfProblem& problem, VkfTensorRole role, const VkfTensorLayout& from,
                               const std::byte* elements, const std::vector<int32_t>& blockTable);

} // namespace vkf::tools
