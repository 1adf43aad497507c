// SPDX-License-Identifier: MIT
//
// Changes a hint in the code of a shader before the driver sees it, where VKF_QUIRK_ROLLED_LOOPS or
// VKF_QUIRK_ROLLED_SCALAR_LOOPS asks for it. A second copy of each shader would differ in nothing else.
#pragma once

#include <cstdint>
#include <vector>

#include "pipelines/kernel.hpp"

namespace vkf {

// Returns the module, which must be valid SPIR-V, with the hint "do not unroll" in place of "unroll". rolledArithmetic
// leaves the hint of loops that read memory through addresses, or call a function that does: a driver with
// VKF_QUIRK_LOADS_PAST_LOOPS carries out such loads once more behind the end of a rolled loop.
std::vector<uint32_t> withLoops(Loops loops, std::vector<uint32_t> module);

} // namespace vkf
