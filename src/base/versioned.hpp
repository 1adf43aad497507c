// SPDX-License-Identifier: MIT
//
// The structSize rule. A caller built against an older header gives a smaller struct, whose missing
// members are zero, their documented default; a larger one comes from a newer header, whose fields
// this version cannot honour, and is refused.
#pragma once

#include <cstddef>
#include <cstring>

#include "base/message.hpp"

namespace vkf {

// Copies *from into *to. firstSize is the size that the struct had in the first version with it.
template <typename Struct>
VkfResult readVersioned(const Struct* from, Struct* to, const char* name, VkfMessage* message,
                        std::size_t firstSize = sizeof(Struct)) {
    if (from == nullptr) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "%s is null", name);
    }
    if (from->structSize < firstSize || from->structSize > sizeof(Struct)) {
        return fail(message, VKF_ERROR_STRUCT_SIZE, "structSize of %s is %zu; this version knows %zu to %zu", name,
                    from->structSize, firstSize, sizeof(Struct));
    }
    *to = Struct{};
    std::memcpy(static_cast<void*>(to), from, from->structSize);
    return VKF_SUCCESS;
}

// Copies from into *to, as much of it as the caller's struct has room for.
template <typename Struct>
VkfResult writeVersioned(const Struct& from, Struct* to, const char* name, VkfMessage* message,
                         std::size_t firstSize = sizeof(Struct)) {
    if (to == nullptr) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "%s is null", name);
    }
    const std::size_t size = to->structSize;
    if (size < firstSize || size > sizeof(Struct)) {
        return fail(message, VKF_ERROR_STRUCT_SIZE, "structSize of %s is %zu; this version knows %zu to %zu", name,
                    size, firstSize, sizeof(Struct));
    }
    std::memcpy(static_cast<void*>(to), &from, size);
    to->structSize = size;
    return VKF_SUCCESS;
}

} // namespace vkf
