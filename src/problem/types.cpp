// SPDX-License-Identifier: MIT
//
// Sizes of types, and the version.
#include <vkflash/problem.h>

#include "shared/stored_types.h"

uint32_t vkfVersion(void) {
    return uint32_t{VKF_VERSION_MAJOR} << 22 | uint32_t{VKF_VERSION_MINOR} << 12 | uint32_t{VKF_VERSION_PATCH};
}

size_t vkfTypeBytes(VkfType type) {
    switch (type) {
    case VKF_TYPE_F32:
        return 4;
    case VKF_TYPE_F16:
    case VKF_TYPE_BF16:
        return 2;
    default:
        return 0;
    }
}

uint32_t vkfBlockElements(VkfType type) {
    if (VKF_IS_BLOCK_TYPE(type)) {
        return VKF_ELEMENTS_OF_BLOCK(type);
    }
    return vkfTypeBytes(type) != 0 ? 1 : 0;
}

uint64_t vkfStoredBytes(VkfType type, uint64_t elements) {
    return VKF_IS_BLOCK_TYPE(type) ? elements / VKF_ELEMENTS_OF_BLOCK(type) * VKF_BLOCK_BYTES(type)
                                   : elements * vkfTypeBytes(type);
}
