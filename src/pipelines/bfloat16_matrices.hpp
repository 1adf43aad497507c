// SPDX-License-Identifier: MIT
//
// Makes shaders on bf16 matrices from the shaders on fp16 matrices, before the driver sees them. Second copies of the
// shaders would differ in little but the type. A specialization constant chooses everything else that differs.
#pragma once

#include <cstdint>
#include <vector>

namespace vkf {

// Returns the module with bf16 in place of every fp16 type, and with the capabilities that bf16 needs. The module must
// be valid SPIR-V, and must have no constants of fp16 and no comparisons of fp16.
// - Conversions to and from fp16 become conversions to and from bf16. Bits taken for fp16 are taken for bf16.
// - bf16 has no arithmetic outside of matrices, so that these instructions are left out: each result is a copy of the
//   first operand. The module's specialization constants must make sure that nothing depends on these results if
//   matrices are bf16.
std::vector<uint32_t> withBfloat16Matrices(const std::vector<uint32_t>& module);

} // namespace vkf
