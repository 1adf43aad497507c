// SPDX-License-Identifier: MIT
//
// Texts of the enumerations of devices and plans. src/problem/strings.cpp has the others.
#include <vkflash/inspect.h>
#include <vkflash/vkflash.h>

#include "base/texts.hpp"

using vkf::find;
using vkf::Text;

const char* vkfFeatureString(VkfFeatureBits bit) {
    static constexpr Text texts[] = {
        VKF_TEXT(VKF_FEATURE_BUFFER_DEVICE_ADDRESS), VKF_TEXT(VKF_FEATURE_STORAGE_16BIT),
        VKF_TEXT(VKF_FEATURE_FULL_SUBGROUPS),        VKF_TEXT(VKF_FEATURE_COOPERATIVE_MATRIX),
        VKF_TEXT(VKF_FEATURE_BFLOAT16_MATRIX),       VKF_TEXT(VKF_FEATURE_BINARY_IMPORT),
    };
    return find(texts, bit, "unknown bit");
}

const char* vkfQuirkString(VkfQuirkBits bit) {
    static constexpr Text texts[] = {
        VKF_TEXT(VKF_QUIRK_NO_SUBGROUP_SHUFFLE),
        VKF_TEXT(VKF_QUIRK_ROLLED_LOOPS),
        VKF_TEXT(VKF_QUIRK_UNKNOWN_MATRIX_LAYOUT),
        VKF_TEXT(VKF_QUIRK_LOCKSTEP_SUBGROUPS),
        VKF_TEXT(VKF_QUIRK_FP16X3),
        VKF_TEXT(VKF_QUIRK_WRONG_MATRIX_LOADS),
        VKF_TEXT(VKF_QUIRK_ROLLED_SCALAR_LOOPS),
        VKF_TEXT(VKF_QUIRK_LATE_SPECIALIZATION),
        VKF_TEXT(VKF_QUIRK_LOADS_PAST_LOOPS),
    };
    return find(texts, bit, "unknown bit");
}

const char* vkfDebugString(VkfDebugBits bit) {
    static constexpr Text texts[] = {
        VKF_TEXT(VKF_DEBUG_FULL_BARRIERS),
        VKF_TEXT(VKF_DEBUG_LIFETIMES),
    };
    return find(texts, bit, "unknown bit");
}

const char* vkfPathRuleString(VkfPathRule rule) {
    static constexpr Text texts[] = {
        {VKF_RULE_ASKED_FOR, "asked for"},
        {VKF_RULE_UNSUPPORTED, "unsupported"},
        {VKF_RULE_LATENT_HEADS, "latent heads"},
        {VKF_RULE_FEW_ROWS, "few query rows"},
        {VKF_RULE_MANY_ROWS_AND_KEYS, "many packed rows and keys"},
        {VKF_RULE_MANY_ROWS, "many query rows"},
        {VKF_RULE_CHIP, "slower on this chip"},
        {VKF_RULE_WHOLE_WORDS, "rows are not whole words"},
        {VKF_RULE_SPILLS, "spills registers on this device"},
        {VKF_RULE_MATRIX_UNITS, "matrix units are faster"},
        {VKF_RULE_OTHERWISE, "no other path is taken"},
        {VKF_RULE_COMPARISON, "for comparisons"},
        {VKF_RULE_LONG_CALL, "long call"},
        {VKF_RULE_SHORT_CALL, "short call"},
        {VKF_RULE_CHOSEN_KEYS, "lists of each row"},
    };
    return find(texts, rule, "unknown rule");
}

const char* vkfTileReasonString(VkfTileReason reason) {
    static constexpr Text texts[] = {
        {VKF_TILE_SUITS, "suits"},
        {VKF_TILE_DIMENSIONS, "made for other head dimensions"},
        {VKF_TILE_OUTPUT_TYPE, "made for fp32 outputs"},
        {VKF_TILE_MASK, "made for masks that leave fewer keys"},
        {VKF_TILE_INVOCATIONS, "too many invocations"},
        {VKF_TILE_SHARED_MEMORY, "too much shared memory"},
        {VKF_TILE_SUBGROUPS, "does not divide into subgroups"},
        {VKF_TILE_PARTIALS, "too many partial results"},
        {VKF_TILE_BLOCKS, "does not fit the blocks of the block mask"},
        {VKF_TILE_FEW_ROWS, "made for fewer rows"},
        {VKF_TILE_MANY_KEYS, "made for fewer keys"},
        {VKF_TILE_LAYOUT, "cannot fill matrices of this element layout"},
        {VKF_TILE_REGISTERS, "spills registers"},
        {VKF_TILE_HALF_EMPTY, "half empty"},
        {VKF_TILE_FEW_WORKGROUPS, "too few workgroups to be busy"},
        {VKF_TILE_SPILLS, "spills registers on this device"},
        {VKF_TILE_NOT_NEEDED, "not considered"},
    };
    return find(texts, reason, "unknown reason");
}
