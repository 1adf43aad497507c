// SPDX-License-Identifier: MIT
//
// Changes a hint in the code of a shader before the driver sees it, where VKF_QUIRK_ROLLED_LOOPS or
// VKF_QUIRK_ROLLED_SCALAR_LOOPS asks for it. A second copy of each shader would differ in nothing else.
#pragma once

#include <cstdint>
#include <vector>

namespace vkf {

// Returns the module with the hint "do not unroll" in place of "unroll". The module must be valid SPIR-V.
std::vector<uint32_t> withRolledLoops(const std::vector<uint32_t>& module);

// As withRolledLoops, but leaves the hint of loops that read memory through addresses, or call a function that does.
// A driver with VKF_QUIRK_LOADS_PAST_LOOPS carries out such loads once more behind the end of a loop. Kernels that are
// always rolled on llvmpipe load nothing wrong in that iteration. Other kernels may.
std::vector<uint32_t> withRolledArithmetic(const std::vector<uint32_t>& module);

} // namespace vkf
