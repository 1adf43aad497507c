// SPDX-License-Identifier: MIT
//
// Writes files of compiled functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <vkflash/functions.hpp>

namespace vkf::functions {

struct CompiledKernel {
    std::string name;
    std::vector<uint32_t> words;
};

// The bytes that src/base/functions_format.hpp describes.
std::vector<std::byte> fileOf(VkfFunctionSet functions, const std::vector<VkfFunctionArray>& arrays, uint64_t key,
                              std::span<const CompiledKernel> kernels);

} // namespace vkf::functions
