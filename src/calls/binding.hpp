// SPDX-License-Identifier: MIT
//
// Turns bindings into checked addresses.
#pragma once

#include <cstdint>

#include <vkflash/vkflash.h>

namespace vkf {

// What a call needs of one binding.
struct Need {
    const char* name; // name in messages
    const VkfBinding* binding;
    VkDeviceAddress* address; // where resolve writes the address
    uint64_t bytes;           // bytes that the call touches; 0 = resolve does not look at the binding
    uint64_t alignment;       // of the address, in bytes
};

// Refuses memory that is bound for an optional array which the problem does not have. The caller forgot the array's
// bit, and would get results without the array.
VkfResult refuseStray(const char* name, const VkfBinding& binding, VkfArrayBits bit, VkfMessage* message);

// Checks a binding and writes its address to *need.address.
VkfResult resolve(const VkfContext_T& context, const Need& need, VkfMessage* message);

} // namespace vkf
