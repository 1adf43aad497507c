// SPDX-License-Identifier: MIT
//
// Specializes a shader before the driver sees it, where VKF_QUIRK_LATE_SPECIALIZATION asks for it. One shader serves
// all masks, types and caches, and a pipeline runs little of it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace vkf {

// Returns the module with constants[i] in place of specialization constant i, without branches whose condition then
// never holds, and without functions that nothing calls any more. Specialization constants beyond `constants` get their
// default. The module must be valid SPIR-V with one entry point, and without a `switch` over 64-bit integers.
std::vector<uint32_t> specialized(const std::vector<uint32_t>& module, std::span<const uint32_t> constants);

} // namespace vkf
