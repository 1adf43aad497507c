// SPDX-License-Identifier: MIT
//
// What the library tells an application to enable on its device.
#include <string>

#include <catch2/catch_test_macros.hpp>

#include <vkflash/vkflash.hpp>

#include "support/device.hpp"

namespace {

using vkf::test::queryOf;
using vkf::test::testDevice;

} // namespace

TEST_CASE("device requirements come with a feature chain and name what is needed", "[library]") {
    const VkfDeviceQuery query = queryOf(testDevice());
    auto requirements = vkf::make<VkfDeviceRequirements>();
    REQUIRE(vkfGetDeviceRequirements(&query, &requirements, nullptr) == VKF_SUCCESS);
    CHECK((requirements.usableFeatures & requirements.neededFeatures) == requirements.neededFeatures);
    const auto* chain = static_cast<const VkBaseInStructure*>(requirements.features);
    CHECK(chain->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
    bool hasAddresses = false;
    for (; chain != nullptr; chain = chain->pNext) {
        if (chain->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES) {
            hasAddresses =
                reinterpret_cast<const VkPhysicalDeviceBufferDeviceAddressFeatures*>(chain)->bufferDeviceAddress != 0;
        }
    }
    CHECK(hasAddresses);
    vkfFreeDeviceRequirements(&requirements);
    CHECK(requirements.features == nullptr);
    CHECK(requirements.extensions == nullptr);
    vkfFreeDeviceRequirements(&requirements); // again
    vkfFreeDeviceRequirements(nullptr);

    VkfMessage message{};
    requirements.structSize = 3;
    CHECK(vkfGetDeviceRequirements(&query, &requirements, &message) == VKF_ERROR_STRUCT_SIZE);
    CHECK(vkfGetDeviceRequirements(&query, nullptr, &message) == VKF_ERROR_INVALID_ARGUMENT);
    CHECK(vkfGetDeviceRequirements(nullptr, &requirements, &message) == VKF_ERROR_INVALID_ARGUMENT);
}

TEST_CASE("device requirements leave out the features that the application does not want", "[library]") {
    VkfDeviceQuery query = queryOf(testDevice());
    auto requirements = vkf::make<VkfDeviceRequirements>();
    VkfMessage message{};
    query.withoutFeatures = VKF_FEATURE_STORAGE_16BIT | VKF_FEATURE_COOPERATIVE_MATRIX;
    REQUIRE(vkfGetDeviceRequirements(&query, &requirements, &message) == VKF_SUCCESS);
    CHECK((requirements.usableFeatures & (query.withoutFeatures | VKF_FEATURE_BFLOAT16_MATRIX)) == 0);
    for (const auto* chain = static_cast<const VkBaseInStructure*>(requirements.features); chain != nullptr;
         chain = chain->pNext) {
        CHECK(chain->sType != VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES);
        CHECK(chain->sType != VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR);
    }
    vkfFreeDeviceRequirements(&requirements);
    query.withoutFeatures = VKF_FEATURE_BUFFER_DEVICE_ADDRESS;
    CHECK(vkfGetDeviceRequirements(&query, &requirements, &message) == VKF_ERROR_INVALID_ARGUMENT);
    CHECK(std::string(message.text) == "withoutFeatures has bits 0x1, which cannot be left out");
    query.withoutFeatures = 1U << 20;
    CHECK(vkfGetDeviceRequirements(&query, &requirements, &message) == VKF_ERROR_INVALID_ARGUMENT);
    query.withoutFeatures = 0;
    query.reserved = 1;
    CHECK(vkfGetDeviceRequirements(&query, &requirements, &message) == VKF_ERROR_INVALID_ARGUMENT);
    CHECK(requirements.features == nullptr);
}
