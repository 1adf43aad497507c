// SPDX-License-Identifier: MIT
//
// The structSize rule, which vkflash.h describes:
// - A smaller struct comes from a caller with an older header. Its missing fields count as 0, their documented default.
// - A larger struct comes from a caller with a newer header. An input struct is accepted if the fields that this
//   version does not know are 0. Unknown fields of an output struct become 0.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/message.hpp"

namespace vkf {

// Bytes of a struct in the first version of today's ABI: 0.5, or an earlier one if the struct is unchanged since then.
// VKF_FIRST_SIZE sets the number for a struct.
template <typename Struct> inline constexpr std::size_t firstSize = 0;

// `lastField` is the last field that the struct had in that version. Never change it when the struct grows. No padding
// may follow the field: a later field in its place would read what older programs left there.
#define VKF_FIRST_SIZE(Struct, lastField)                                                                              \
    static_assert(sizeof(void*) != 8 ||                                                                                \
                  (offsetof(Struct, lastField) + sizeof(Struct::lastField)) % alignof(Struct) == 0);                   \
    template <>                                                                                                        \
    inline constexpr std::size_t firstSize<Struct> =                                                                   \
        (offsetof(Struct, lastField) + sizeof(Struct::lastField) + alignof(Struct) - 1) / alignof(Struct) *            \
        alignof(Struct)

// No newer header is expected to add more bytes than this. A larger structSize counts as a field that was never set.
inline constexpr std::size_t maxGrowth = 4096;

// Refuses a null pointer, and a structSize that no version can have.
template <typename Struct> VkfResult checkStructSize(const Struct* given, const char* name, VkfMessage* message) {
    static_assert(firstSize<Struct> != 0 && firstSize<Struct> <= sizeof(Struct));
    if (given == nullptr) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "%s is null", name);
    }
    if (given->structSize == 0) {
        return fail(message, VKF_ERROR_STRUCT_SIZE, "structSize of %s is 0; it must be the sizeof of the struct", name);
    }
    if (given->structSize < firstSize<Struct> || given->structSize > sizeof(Struct) + maxGrowth) {
        return fail(message, VKF_ERROR_STRUCT_SIZE,
                    "structSize of %s is %zu; this version has %zu, and takes %zu and more", name, given->structSize,
                    sizeof(Struct), firstSize<Struct>);
    }
    return VKF_SUCCESS;
}

// Copies *from, an input struct, into *to. Fields that the caller's struct lacks become 0. structSize of *to becomes
// sizeof(Struct), so that *to may be an input of other functions.
template <typename Struct>
VkfResult readVersioned(const Struct* from, Struct* to, const char* name, VkfMessage* message) {
    if (const VkfResult result = checkStructSize(from, name, message); result != VKF_SUCCESS) {
        return result;
    }
    const auto* bytes = reinterpret_cast<const unsigned char*>(from);
    // The size of a null pointer was refused: NOLINTNEXTLINE(clang-analyzer-core.NullDereference)
    for (std::size_t i = sizeof(Struct); i < from->structSize; i++) {
        if (bytes[i] != 0) {
            return fail(message, VKF_ERROR_STRUCT_SIZE,
                        "%s has a field at byte %zu that this version does not know; it must be 0", name, i);
        }
    }
    *to = Struct{};
    std::memcpy(static_cast<void*>(to), bytes, std::min(from->structSize, sizeof(Struct)));
    to->structSize = sizeof(Struct);
    return VKF_SUCCESS;
}

// Copies `from` into *to, an output struct, as far as the caller's struct reaches. Fields that this version does not
// know become 0. structSize stays as the caller set it.
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
