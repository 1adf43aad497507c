// SPDX-License-Identifier: MIT
//
// Compiles the kernels with a user's functions in them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "functions/user_file.hpp"

namespace vkf::functions {

// Compiles the file's functions in a small shader, which takes milliseconds. Throws Error.
void checkCompiles(const UserFile& file);

// Returns the SPIR-V of a kernel, by a name of shaders/variants.json. Throws Error. Thread-safe.
std::vector<uint32_t> compileKernel(const UserFile& file, std::string_view name);

// Returns the SPIR-V of a kernel without functions, as the build compiles it.
std::vector<uint32_t> compilePlainKernel(std::string_view name);

} // namespace vkf::functions
