// SPDX-License-Identifier: MIT
//
// What the library tells an application to enable on its device.
#include <string>

#include <catch2/catch_test_macros.hpp>

#include <vkflash/vkflash.hpp>

#include "support/call.hpp"
#include "support/device.hpp"
#include "support/lacking.hpp"

namespace {

using vkf::test::queryOf;
using vkf::test::testDevice;

// The test device, with another identity and with one extension more.
uint32_t vendorId = 0;
uint32_t deviceId = 0;

template <typename Function> Function realFunction(const char* name) {
    return reinterpret_cast<Function>(testDevice().getInstanceProcAddr()(testDevice().instance(), name));
}

VKAPI_ATTR VkResult VKAPI_CALL enumerateWithImport(VkPhysicalDevice device, const char* layer, uint32_t* count,
                                                   VkExtensionProperties* items) {
    const auto real = realFunction<PFN_vkEnumerateDeviceExtensionProperties>("vkEnumerateDeviceExtensionProperties");
    uint32_t all = 0;
    real(device, layer, &all, nullptr);
    if (items == nullptr) {
        *count = all + 1;
        return VK_SUCCESS;
    }
    real(device, layer, &all, items);
    items[all] = {VK_NVX_BINARY_IMPORT_EXTENSION_NAME, VK_NVX_BINARY_IMPORT_SPEC_VERSION};
    *count = all + 1;
    return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL propertiesOfOther(VkPhysicalDevice device, VkPhysicalDeviceProperties2* properties) {
    realFunction<PFN_vkGetPhysicalDeviceProperties2>("vkGetPhysicalDeviceProperties2")(device, properties);
    properties->properties.vendorID = vendorId;
    properties->properties.deviceID = deviceId;
}

// A driver with the extension gives its functions even if the device was created without it.
PFN_vkVoidFunction VKAPI_CALL withoutLaunches(VkDevice device, const char* name) {
    return std::string(name).find("Cu") != std::string::npos
               ? nullptr
               : realFunction<PFN_vkGetDeviceProcAddr>("vkGetDeviceProcAddr")(device, name);
}

PFN_vkVoidFunction VKAPI_CALL entryWithImport(VkInstance instance, const char* name) {
    const std::string function = name;
    return function == "vkEnumerateDeviceExtensionProperties"
               ? reinterpret_cast<PFN_vkVoidFunction>(enumerateWithImport)
           : function == "vkGetPhysicalDeviceProperties2" ? reinterpret_cast<PFN_vkVoidFunction>(propertiesOfOther)
           : function == "vkGetDeviceProcAddr"            ? reinterpret_cast<PFN_vkVoidFunction>(withoutLaunches)
                                                          : testDevice().getInstanceProcAddr()(instance, name);
}

// Whether the requirements of the other device have the feature, and the extension with it.
bool requiresImport(uint32_t vendor, uint32_t id, VkfFeatures without = 0) {
    vendorId = vendor;
    deviceId = id;
    VkfDeviceQuery query = queryOf(testDevice());
    query.getInstanceProcAddr = entryWithImport;
    query.withoutFeatures = without;
    auto requirements = vkf::make<VkfDeviceRequirements>();
    REQUIRE(vkfGetDeviceRequirements(&query, &requirements, nullptr) == VKF_SUCCESS);
    bool listed = false;
    for (uint32_t i = 0; i < requirements.extensionCount; i++) {
        listed = listed || std::string(requirements.extensions[i]) == "VK_NVX_binary_import";
    }
    const bool usable = (requirements.usableFeatures & VKF_FEATURE_BINARY_IMPORT) != 0;
    vkfFreeDeviceRequirements(&requirements);
    CHECK(listed == usable);
    return usable;
}

} // namespace

TEST_CASE("VK_NVX_binary_import is usable on Hopper chips alone, and can be left out", "[library]") {
    CHECK(requiresImport(0x10de, 0x2330));
    CHECK(requiresImport(0x10de, 0x2335));
    CHECK(!requiresImport(0x10de, 0x2684)); // Ada
    CHECK(!requiresImport(0x1002, 0x2330));
    CHECK(!requiresImport(0x10de, 0x2330, VKF_FEATURE_BINARY_IMPORT));
}

TEST_CASE("a context without the functions of VK_NVX_binary_import loses path wgmma and nothing else", "[library]") {
    vendorId = 0x10de;
    deviceId = 0x2330;
    VkfContextCreateInfo info = vkf::test::contextInfo(testDevice());
    info.getInstanceProcAddr = entryWithImport;
    info.features |= VKF_FEATURE_BINARY_IMPORT; // not enabled on this device
    VkfMessage message{};
    vkf::Context context;
    const VkfResult created = vkfCreateContext(&info, context.put(), &message);
    INFO(message.text);
    REQUIRE(created == VKF_SUCCESS);
    VkfProblem problem = vkf::test::problemOf({1, 4, 4, 256, 65536, 128, 0, VKF_TYPE_F16});
    CHECK(vkfCheckSupport(context.get(), &problem, nullptr) == VKF_SUCCESS);
    if (vkf::test::leavesOut(testDevice(), VKF_PATH_WGMMA)) {
        return;
    }
    problem.path = VKF_PATH_WGMMA;
    CHECK(vkfCheckSupport(context.get(), &problem, &message) == VKF_ERROR_UNSUPPORTED);
    const std::string text = message.text;
    CHECK((text == "path wgmma: the device was created without VK_NVX_binary_import" ||
           text == "path wgmma: its kernels are left out of this build"));
}

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
