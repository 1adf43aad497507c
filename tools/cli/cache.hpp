// SPDX-License-Identifier: MIT
//
// K and V as caches keep them: of types of their own, in pages.
#ifndef VKFLASH_TOOLS_CACHE_HPP
#define VKFLASH_TOOLS_CACHE_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "vkflash/host.hpp"

namespace vkf::tools {

struct CacheOptions {
    std::string kvType;    // empty = that of the other tensors
    std::string kType;     // empty = kvType
    std::string vType;     // empty = kvType
    uint32_t pageSize = 0; // 0 = no pages
};

void addCacheOptions(CLI::App& command, CacheOptions& options);
// Without types of k and v apart.
void addOneTypeCacheOptions(CLI::App& command, CacheOptions& options);
// Sets types and paging of a problem whose k and v are dense: as many pages as its keys need.
void applyCacheOptions(const CacheOptions& options, VkfProblem& problem);

// The block table of a problem with paging: all its pages, shuffled; the same for the same problem. Else empty.
std::vector<int32_t> shuffledPages(const VkfProblem& problem);

// k or v, dense [batch, kvHeads, keys, dim] of a type with single elements, as the problem has it. What is past the
// last key in its page is NaN.
std::vector<std::byte> toCache(const VkfProblem& problem, VkfTensorRole role, VkfType type, const std::byte* dense,
                               const std::vector<int32_t>& blockTable);

} // namespace vkf::tools

#endif
