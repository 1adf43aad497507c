// SPDX-License-Identifier: MIT
//
// Texts of the enumerations of devices and plans. src/problem/strings.cpp has the others.
#include <vkflash/inspect.h>
#include <vkflash/vkflash.h>

#define VKF_TEXT(constant)                                                                                             \
    case constant:                                                                                                     \
        return #constant

const char* vkfFeatureString(VkfFeatureBits bit) {
    switch (bit) {
        VKF_TEXT(VKF_FEATURE_BUFFER_DEVICE_ADDRESS);
        VKF_TEXT(VKF_FEATURE_STORAGE_16BIT);
        VKF_TEXT(VKF_FEATURE_FULL_SUBGROUPS);
        VKF_TEXT(VKF_FEATURE_COOPERATIVE_MATRIX);
        VKF_TEXT(VKF_FEATURE_BFLOAT16_MATRIX);
    default:
        return "unknown bit";
    }
}

const char* vkfQuirkString(VkfQuirkBits bit) {
    switch (bit) {
        VKF_TEXT(VKF_QUIRK_NO_SUBGROUP_SHUFFLE);
        VKF_TEXT(VKF_QUIRK_ROLLED_LOOPS);
        VKF_TEXT(VKF_QUIRK_UNKNOWN_MATRIX_LAYOUT);
        VKF_TEXT(VKF_QUIRK_LOCKSTEP_SUBGROUPS);
        VKF_TEXT(VKF_QUIRK_FP16X3);
        VKF_TEXT(VKF_QUIRK_WRONG_MATRIX_LOADS);
    default:
        return "unknown bit";
    }
}

const char* vkfDebugString(VkfDebugBits bit) {
    switch (bit) {
        VKF_TEXT(VKF_DEBUG_FULL_BARRIERS);
        VKF_TEXT(VKF_DEBUG_LIFETIMES);
    default:
        return "unknown bit";
    }
}

const char* vkfTileReasonString(VkfTileReason reason) {
    switch (reason) {
    case VKF_TILE_SUITS:
        return "suits";
    case VKF_TILE_DIMENSIONS:
        return "made for other head dimensions";
    case VKF_TILE_OUTPUT_TYPE:
        return "made for fp32 outputs";
    case VKF_TILE_MASK:
        return "made for masks that leave fewer keys";
    case VKF_TILE_INVOCATIONS:
        return "too many invocations";
    case VKF_TILE_SHARED_MEMORY:
        return "too much shared memory";
    case VKF_TILE_SUBGROUPS:
        return "does not divide into subgroups";
    case VKF_TILE_PARTIALS:
        return "too many partial results";
    case VKF_TILE_BLOCKS:
        return "does not fit the blocks of the block mask";
    case VKF_TILE_FEW_ROWS:
        return "made for fewer rows";
    case VKF_TILE_MANY_KEYS:
        return "made for fewer keys";
    case VKF_TILE_LAYOUT:
        return "cannot fill matrices of this element layout";
    case VKF_TILE_REGISTERS:
        return "spills registers";
    case VKF_TILE_HALF_EMPTY:
        return "half empty";
    case VKF_TILE_FEW_WORKGROUPS:
        return "too few workgroups to be busy";
    case VKF_TILE_SPILLS:
        return "spills registers on this device";
    case VKF_TILE_NOT_NEEDED:
        return "not looked at";
    default:
        return "unknown reason";
    }
}
