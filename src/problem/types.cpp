// SPDX-License-Identifier: MIT
//
// Names of result codes, types and paths; sizes of types; the version.
#include <vkflash/problem.h>

#include "shared/stored_types.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace {

struct Name {
    int value;
    const char* text;
};

constexpr std::array resultNames = {
    Name{VKF_SUCCESS, "success"},
    Name{VKF_ERROR_INVALID_ARGUMENT, "invalid argument"},
    Name{VKF_ERROR_UNSUPPORTED, "unsupported"},
    Name{VKF_ERROR_MISSING_FEATURE, "missing device feature"},
    Name{VKF_ERROR_STRUCT_SIZE, "unknown structSize"},
    Name{VKF_ERROR_BINDING_TOO_SMALL, "binding too small"},
    Name{VKF_ERROR_OUT_OF_HOST_MEMORY, "out of host memory"},
    Name{VKF_ERROR_OUT_OF_DEVICE_MEMORY, "out of device memory"},
    Name{VKF_ERROR_DEVICE_LOST, "device lost"},
    Name{VKF_ERROR_VULKAN, "Vulkan call failed"},
};

constexpr std::array typeNames = {
    Name{VKF_TYPE_F32, "f32"},     Name{VKF_TYPE_F16, "f16"},         Name{VKF_TYPE_BF16, "bf16"},
    Name{VKF_TYPE_Q8_0, "q8_0"},   Name{VKF_TYPE_F8_E4M3, "f8_e4m3"}, Name{VKF_TYPE_Q4_0, "q4_0"},
    Name{VKF_TYPE_Q4_1, "q4_1"},   Name{VKF_TYPE_Q5_0, "q5_0"},       Name{VKF_TYPE_Q5_1, "q5_1"},
    Name{VKF_TYPE_BOOL8, "bool8"}, Name{VKF_TYPE_BOOL1, "bool1"},     Name{VKF_TYPE_IQ4_NL, "iq4_nl"},
};

constexpr std::array pathNames = {
    Name{VKF_PATH_AUTO, "auto"},       Name{VKF_PATH_SCALAR, "scalar"}, Name{VKF_PATH_STANDARD, "standard"},
    Name{VKF_PATH_COOPMAT, "coopmat"}, Name{VKF_PATH_DECODE, "decode"}, Name{VKF_PATH_KEY_OUTER, "key_outer"},
};

// Returns the name of a value, or `fallback` if the value has none.
template <std::size_t count> const char* find(const std::array<Name, count>& names, int value, const char* fallback) {
    const auto found =
        std::find_if(names.begin(), names.end(), [value](const Name& name) { return name.value == value; });
    return found == names.end() ? fallback : found->text;
}

} // namespace

const char* vkfResultString(VkfResult result) { return find(resultNames, result, "unknown result code"); }

const char* vkfTypeName(VkfType type) { return find(typeNames, type, "unknown type"); }

const char* vkfPathName(VkfPath path) { return find(pathNames, path, "unknown path"); }

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
        return VKF_BLOCK_ELEMENTS;
    }
    return vkfTypeBytes(type) != 0 ? 1 : 0;
}

uint64_t vkfStoredBytes(VkfType type, uint64_t elements) {
    return VKF_IS_BLOCK_TYPE(type) ? elements / VKF_BLOCK_ELEMENTS * VKF_BLOCK_BYTES(type)
                                   : elements * vkfTypeBytes(type);
}
