// SPDX-License-Identifier: MIT
//
// Shaders whose matrices are of bf16: those of fp16 with the type changed before the driver sees it, because a second
// copy of each would differ in next to nothing else. What else differs a specialization constant chooses.
#pragma once

#include <cstdint>
#include <vector>

namespace vkf {

// A valid SPIR-V module with every fp16 type made bf16, and the capabilities that this takes. Conversions become
// those to bf16, bits taken for fp16 are taken for bf16. bf16 has no arithmetic outside of matrices: such instructions
// are left out, the first operand in the place of the result, and the module's specialization constants must see to it
// that nothing depends on them where matrices are bf16. The module must have no constants of fp16 and compare none.
std::vector<uint32_t> withBfloat16Matrices(const std::vector<uint32_t>& module);

} // namespace vkf
