// SPDX-License-Identifier: MIT
#ifndef VKFLASH_TOOLS_MEMORY_USE_HPP
#define VKFLASH_TOOLS_MEMORY_USE_HPP

#include <cstdint>
#include <optional>

#include "vkflash/host.hpp"

namespace vkf::tools {

// Bytes of device-local memory of this process by the driver's count. The count includes everything that the driver
// keeps for itself. Empty without VK_EXT_memory_budget.
std::optional<uint64_t> deviceMemoryInUse(const host::Device& device);

} // namespace vkf::tools

#endif
