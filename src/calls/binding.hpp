// SPDX-License-Identifier: MIT
//
// From a binding to a checked address.
#pragma once

#include <cstdint>

#include <vkflash/vkflash.h>

namespace vkf {

struct Need {
    const char* name;
    const VkfBinding* binding;
    VkDeviceAddress* address;
    uint64_t bytes; // 0 = nothing is touched
    uint64_t alignment;
};

// The needed binding's address, checked.
VkfResult resolve(const VkfContext_T& context, const Need& need, VkfMessage* message);

} // namespace vkf
