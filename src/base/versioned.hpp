// SPDX-License-Identifier: MIT
//
// The structSize rule, which vkflash.h describes. A caller that was built against an older header gives a smaller
// struct: its missing fields count as 0, their documented default. A caller that was built against a newer header gives
// a larger struct: this version takes it as long as the fields that it does not know are 0.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/message.hpp"

namespace vkf {

// Bytes of a struct in version 0.2, the first one with this rule. VKF_FIRST_SIZE gives them for each struct.
template <typename Struct> inline constexpr std::size_t firstSize = 0;

// `lastField` is the last field that the struct had in version 0.2. Never change it when the struct grows.
#define VKF_FIRST_SIZE(Struct, lastField)                                                                              \
    template <>                                                                                                        \
    inline constexpr std::size_t firstSize<Struct> =                                                                   \
        (offsetof(Struct, lastField) + sizeof(Struct::lastField) + alignof(Struct) - 1) / alignof(Struct) *            \
        alignof(Struct)

// A structSize past this growth is not a newer header's but a field that was never set.
inline constexpr std::size_t mostGrowth = 4096;

template <typename Struct> VkfResult checkStructSize(const Struct* given, const char* name, VkfMessage* message) {
    static_assert(firstSize<Struct> != 0 && firstSize<Struct> <= sizeof(Struct));
    if (given == nullptr) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "%s is null", name);
    }
    if (given->structSize < firstSize<Struct> || given->structSize > sizeof(Struct) + mostGrowth) {
        return fail(message, VKF_ERROR_STRUCT_SIZE, "structSize of %s is %zu; this version knows %zu to %zu", name,
                    given->structSize, firstSize<Struct>, sizeof(Struct));
    }
    return VKF_SUCCESS;
}

// Copies *from, an input, into *to.
template <typename Struct>
VkfResult readVersioned(const Struct* from, Struct* to, const char* name, VkfMessage* message) {
    if (const VkfResult result = checkStructSize(from, name, message); result != VKF_SUCCESS) {
        return result;
    }
    const auto* bytes = reinterpret_cast<const unsigned char*>(from);
    for (std::size_t i = sizeof(Struct); i < from->structSize; i++) {
        if (bytes[i] != 0) {
            return fail(message, VKF_ERROR_STRUCT_SIZE,
                        "%s has a field at byte %zu that is not 0, which this version does not know", name, i);
        }
    }
    *to = Struct{};
    std::memcpy(static_cast<void*>(to), bytes, std::min(from->structSize, sizeof(Struct)));
    return VKF_SUCCESS;
}

// Copies `from` into *to, an output, as far as the caller's struct reaches. structSize stays as the caller set it.
template <typename Struct>
VkfResult writeVersioned(const Struct& from, Struct* to, const char* name, VkfMessage* message) {
    if (const VkfResult result = checkStructSize(to, name, message); result != VKF_SUCCESS) {
        return result;
    }
    const std::size_t size = to->structSize;
    auto* bytes = reinterpret_cast<unsigned char*>(to);
    std::memcpy(bytes, &from, std::min(size, sizeof(Struct)));
    if (size > sizeof(Struct)) {
        std::memset(bytes + sizeof(Struct), 0, size - sizeof(Struct));
    }
    to->structSize = size;
    return VKF_SUCCESS;
}

} // namespace vkf
