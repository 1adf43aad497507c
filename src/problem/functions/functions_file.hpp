// SPDX-License-Identifier: MIT
//
// Reads files of compiled functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <vkflash/functions.h>

namespace vkf {

// The content of a file, whose layout is in base/functions_format.hpp.
struct FunctionsFile {
    VkfFunctionSet functions = 0;
    std::vector<VkfFunctionArray> arrays;
    uint64_t key = 0;
    std::map<std::string, std::vector<uint32_t>, std::less<>> kernels; // SPIR-V by the kernel's name
};

// Refuses a file that is damaged or of another version. The functions and the arrays are not checked otherwise.
VkfResult readFunctionsFile(std::span<const std::byte> bytes, FunctionsFile* file, VkfMessage* message);

} // namespace vkf
