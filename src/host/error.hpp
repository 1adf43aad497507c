// SPDX-License-Identifier: MIT
//
// Turns result codes into exceptions.
#pragma once

#include <vkflash/host.hpp>

#include <cstdint>
#include <string>

namespace vkf::host {

// Returns an error such as "vkCreateDevice failed: VK_ERROR_OUT_OF_HOST_MEMORY", with the library's code for the
// result.
Error vulkanError(VkResult result, const char* call);

// Throws unless the call succeeded.
void check(VkResult result, const char* call);
void check(VkfResult result, const VkfMessage& message);

// Returns a text such as "1.5 GiB".
std::string byteText(uint64_t bytes);

} // namespace vkf::host
