// SPDX-License-Identifier: MIT
//
// The flags of a cache: types of k and v, paging, and the memory that may save work.
#ifndef VKFLASH_TOOLS_CACHE_OPTIONS_HPP
#define VKFLASH_TOOLS_CACHE_OPTIONS_HPP

#include <cstdint>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "vkflash/problem.hpp"

namespace vkf::tools {

struct CacheOptions {
    std::string kvType;              // empty = the type of the other tensors
    std::string kType;               // empty = kvType
    std::string vType;               // empty = kvType
    uint32_t pageSize = 0;           // 0 = no pages
    std::optional<uint32_t> scratch; // MiB; see addScratchOption
};

void addCacheOptions(CLI::App& command, CacheOptions& options);
// Adds only --kv-type, --page-size and --scratch.
void addOneTypeCacheOptions(CLI::App& command, CacheOptions& options);
// Sets types, paging and maxScratchBytes of a problem with dense k and v. It gets as many pages as its keys need.
void applyCacheOptions(const CacheOptions& options, VkfProblem& problem);

} // namespace vkf::tools

#endif
