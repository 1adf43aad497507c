// SPDX-License-Identifier: MIT
//
// K and V as caches keep them: their types may differ from that of q, and they may lie in pages.
#ifndef VKFLASH_TOOLS_CACHE_HPP
#define VKFLASH_TOOLS_CACHE_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

#include "vkflash/host.hpp"

namespace vkf::tools {

// The block table of a problem with paging: all its pages, shuffled; the same for the same problem. Else empty.
std::vector<int32_t> shuffledPages(const VkfProblem& problem);

// k or v, dense [batch, kvHeads, keys, dim] of a type with single elements, as the problem has it. What is past the
// last key in its page is NaN.
std::vector<std::byte> toCache(const VkfProblem& problem, VkfTensorRole role, VkfType type, const std::byte* dense,
                               const std::vector<int32_t>& blockTable);

} // namespace vkf::tools

#endif
