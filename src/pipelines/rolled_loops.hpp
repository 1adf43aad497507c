// SPDX-License-Identifier: MIT
//
// For drivers that are better off with loops (VKF_QUIRK_ROLLED_LOOPS): a hint in the code of a shader, changed
// before the driver sees it, because a second copy of each shader would differ in nothing else.
#pragma once

#include <cstdint>
#include <vector>

namespace vkf {

// A valid SPIR-V module whose loops say "do not unroll" where they said "unroll".
std::vector<uint32_t> withRolledLoops(const std::vector<uint32_t>& module);

} // namespace vkf
