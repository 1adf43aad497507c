// SPDX-License-Identifier: MIT
//
// Texts of the public enumerations, and the chain of features of an application. No device is needed.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <initializer_list>
#include <set>
#include <string>

#include <vkflash/inspect.h>
#include <vkflash/reference.h>
#include <vkflash/vkflash.h>

#include "problem/arrays.hpp"

using Catch::Matchers::ContainsSubstring;

namespace {

// Fails unless the values have texts of their own, and another number has a text for unknown values.
template <typename Value> void checkTexts(const char* (*text)(Value), std::initializer_list<int> values) {
    const std::string unknown = text(static_cast<Value>(0x5a5a5a));
    CHECK(unknown.starts_with("unknown"));
    std::set<std::string> texts = {unknown};
    for (const int value : values) {
        const std::string one = text(static_cast<Value>(value));
        INFO(value << ": " << one);
        CHECK(texts.insert(one).second);
    }
}

} // namespace

TEST_CASE("every value of a public enumeration has a text of its own", "[problem]") {
    checkTexts(vkfResultString, {0, -1, -2, -3, -4, -5, -6, -7, -8, -9});
    checkTexts(vkfTypeName, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
    checkTexts(vkfPathName, {0, 1, 2, 3, 4, 5});
    checkTexts(vkfAlignmentString, {0, 1});
    checkTexts(vkfPrecisionString, {0, 1});
    checkTexts(vkfTensorRoleString, {0, 1, 2, 3});
    checkTexts(vkfMergeRoleString, {0, 1});
    checkTexts(vkfAppendRoleString, {0, 1, 2, 3, 4, 5});
    checkTexts(vkfRotaryPairsString, {0, 1, 2});
    checkTexts(vkfBackwardRoleString, {0, 1, 2, 3});
    checkTexts(vkfGradientString, {1, 2, 4, 8, 16});
    checkTexts(vkfFeatureString, {1, 2, 4, 8, 16});
    checkTexts(vkfQuirkString, {1, 2, 4, 8, 16, 32, 64});
    checkTexts(vkfDebugString, {1, 2});
    checkTexts(vkfPathRuleString, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
    checkTexts(vkfTileReasonString, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 16, 17, 18, 19, 32});
    checkTexts(vkfReferenceAlgorithmString, {0, 1, 2, 3, 4, 5, 6, 7, 8});
    for (uint32_t bit = 0; bit < 28; bit++) {
        CHECK(std::string(vkfUseString(static_cast<VkfUseBits>(1U << bit))).starts_with("VKF_USE_"));
    }
    for (const vkf::ArrayRow& row : vkf::arrayTable) {
        CHECK(std::string(vkfArrayString(row.array)) == row.name);
    }
    checkTexts(vkfArrayString,
               {VKF_ARRAY_LENGTHS, VKF_ARRAY_NEW_LENGTHS, VKF_ARRAY_COS, VKF_ARRAY_SIN, VKF_ARRAY_CU_SEQLENS,
                VKF_ARRAY_ROTARY_POSITIONS, VKF_ARRAY_PARTIAL_LSE, VKF_ARRAY_DLSE, VKF_ARRAY_DBIAS, VKF_ARRAY_DSINKS});
}

TEST_CASE("features are set in an application's own chain, all or none", "[problem]") {
    VkPhysicalDeviceVulkan13Features features13{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES};
    VkPhysicalDeviceVulkan12Features features12{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, &features13};
    VkPhysicalDeviceFeatures2 features2{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &features12, {}};
    VkfMessage message{};
    const VkfFeatures wanted = VKF_FEATURE_BUFFER_DEVICE_ADDRESS | VKF_FEATURE_FULL_SUBGROUPS;
    CHECK(vkfEnableFeatures(wanted | VKF_FEATURE_STORAGE_16BIT, &features2, &message) == VKF_ERROR_INVALID_ARGUMENT);
    CHECK_THAT(std::string(message.text), ContainsSubstring("no struct of the chain has storageBuffer16BitAccess"));
    CHECK_THAT(std::string(message.text), ContainsSubstring("VkPhysicalDeviceVulkan11Features"));
    CHECK(features12.bufferDeviceAddress == VK_FALSE);
    CHECK(vkfEnableFeatures(wanted, &features2, &message) == VKF_SUCCESS);
    CHECK(features12.bufferDeviceAddress == VK_TRUE);
    CHECK(features13.subgroupSizeControl == VK_TRUE);
    CHECK(features13.computeFullSubgroups == VK_TRUE);
    CHECK(features12.shaderFloat16 == VK_FALSE);

    VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrices{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR};
    VkPhysicalDevice16BitStorageFeatures storage16{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES, &matrices};
    features13.pNext = &storage16;
    CHECK(vkfEnableFeatures(VKF_FEATURE_STORAGE_16BIT | VKF_FEATURE_COOPERATIVE_MATRIX, &features2, &message) ==
          VKF_SUCCESS);
    CHECK(storage16.storageBuffer16BitAccess == VK_TRUE);
    CHECK(matrices.cooperativeMatrix == VK_TRUE);
    CHECK(features12.shaderFloat16 == VK_TRUE);
    CHECK(features12.vulkanMemoryModel == VK_TRUE);
    CHECK(vkfEnableFeatures(VKF_FEATURE_STORAGE_16BIT, nullptr, &message) == VKF_ERROR_INVALID_ARGUMENT);
    CHECK(vkfEnableFeatures(1U << 20, &features2, &message) == VKF_ERROR_INVALID_ARGUMENT);
}
