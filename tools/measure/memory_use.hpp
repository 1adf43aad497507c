// SPDX-License-Identifier: MIT
#ifndef VKFLASH_TOOLS_MEMORY_USE_HPP
#define VKFLASH_TOOLS_MEMORY_USE_HPP

#include <cstdint>
#include <optional>

#include "vkflash/host.hpp"

namespace vkf::tools {

// Bytes of device-local memory that this process uses by the driver's count, everything that the driver keeps for
// itself included. Nothing without VK_EXT_memory_budget.
std::optional<uint64_t> deviceMemoryInUse(const host::Device& device);

} // namespace vkf::tools

#endif
