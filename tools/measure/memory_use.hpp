// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

#include "vkflash/host.hpp"

namespace vkf::tools {

// Bytes of device-local memory of this process by the driver's count. The count includes everything that the driver
// keeps for itself. Empty without VK_EXT_memory_budget.
std::optional<uint64_t> deviceMemoryInUse(const host::Device& device);

// Bytes of host memory of this process that are in physical memory. Empty where the system does not tell.
std::optional<uint64_t> hostMemoryInUse();

} // namespace vkf::tools
