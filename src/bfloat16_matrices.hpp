// SPDX-License-Identifier: MIT
//
// Shaders whose matrices are of bf16: those of fp16 with the type changed before the driver sees it, where a kernel
// does nothing with an element but multiply it in a matrix, because a second copy of it would differ in nothing else.
#pragma once

#include <cstdint>
#include <vector>

namespace vkf {

// A valid SPIR-V module with every fp16 type made bf16, and the capabilities that this takes. The module must not
// convert, load or compute single elements of fp16.
std::vector<uint32_t> withBfloat16Matrices(const std::vector<uint32_t>& module);

} // namespace vkf
