// SPDX-License-Identifier: MIT
#include "calls/binding.hpp"

#include "base/message.hpp"
#include "calls/context.hpp"
#include "problem/checks.hpp"

namespace vkf {

VkfResult refuseStray(const char* name, const VkfBinding& binding, VkfArrayBits bit, VkfMessage* message) {
    return binding.address == 0 && binding.buffer == VK_NULL_HANDLE
               ? VKF_SUCCESS
               : fail(message, VKF_ERROR_INVALID_ARGUMENT, "%s is bound, but the problem's arrays lack %s", name,
                      arrayName(bit));
}

VkfResult resolve(const VkfContext_T& context, const Need& need, VkfMessage* message) {
    if (need.bytes == 0) {
        return VKF_SUCCESS;
    }
    const VkfBinding& binding = *need.binding;
    if (binding.reserved != 0) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "the reserved field of %s is not zero", need.name);
    }
    VkDeviceAddress base = binding.address;
    if (base == 0 && binding.buffer != VK_NULL_HANDLE) {
        VkBufferDeviceAddressInfo info{};
        info.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO;
        info.buffer = binding.buffer;
        base = context.functions.vkGetBufferDeviceAddress(context.device, &info);
    }
    if (base == 0) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "%s has neither address nor buffer", need.name);
    }
    *need.address = base + binding.offset;
    if (*need.address % need.alignment != 0) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "the address of %s, 0x%llx, is not aligned to %llu bytes",
                    need.name, static_cast<unsigned long long>(*need.address),
                    static_cast<unsigned long long>(need.alignment));
    }
    if (binding.size != 0 && binding.size < need.bytes) {
        return fail(message, VKF_ERROR_BINDING_TOO_SMALL, "%s needs %llu bytes; its binding has %llu", need.name,
                    static_cast<unsigned long long>(need.bytes), static_cast<unsigned long long>(binding.size));
    }
    return VKF_SUCCESS;
}

} // namespace vkf
