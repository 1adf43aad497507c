// SPDX-License-Identifier: MIT
//
// From result codes to exceptions.
#pragma once

#include <vkflash/host.hpp>

#include <cstdint>
#include <string>

namespace vkf::host {

// "vkCreateDevice failed: VK_ERROR_OUT_OF_HOST_MEMORY", with the library's code for it.
Error vulkanError(VkResult result, const char* call);

// Throws unless the call succeeded.
void check(VkResult result, const char* call);
void check(VkfResult result, const VkfMessage& message);

// "1.5 GiB"
std::string byteText(uint64_t bytes);

} // namespace vkf::host
