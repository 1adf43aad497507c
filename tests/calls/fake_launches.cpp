// SPDX-License-Identifier: MIT
#include "calls/fake_launches.hpp"

#include <cstring>
#include <type_traits>

#include <catch2/catch_test_macros.hpp>

namespace vkf::test {
namespace {

FakeLaunches* driver = nullptr;

// Handles are numbers: 1 + the place of the text in FakeLaunches::modules.
template <typename Handle> Handle handleOf(size_t number) {
    if constexpr (std::is_pointer_v<Handle>) {
        return reinterpret_cast<Handle>(number); // NOLINT(performance-no-int-to-ptr)
    } else {
        return number;
    }
}
template <typename Handle> size_t numberOf(Handle handle) {
    if constexpr (std::is_pointer_v<Handle>) {
        return reinterpret_cast<size_t>(handle);
    } else {
        return static_cast<size_t>(handle);
    }
}

VKAPI_ATTR VkResult VKAPI_CALL createModule(VkDevice, const VkCuModuleCreateInfoNVX* info, const VkAllocationCallbacks*,
                                            VkCuModuleNVX* module) {
    const std::lock_guard lock(driver->mutex);
    const auto* text = static_cast<const char*>(info->pData);
    if (info->sType != VK_STRUCTURE_TYPE_CU_MODULE_CREATE_INFO_NVX || info->dataSize != std::strlen(text) + 1) {
        return VK_ERROR_UNKNOWN;
    }
    driver->modules.emplace_back(text);
    if (driver->moduleResult == VK_SUCCESS) {
        driver->livingModules++;
        *module = handleOf<VkCuModuleNVX>(driver->modules.size());
    }
    return driver->moduleResult;
}

VKAPI_ATTR void VKAPI_CALL destroyModule(VkDevice, VkCuModuleNVX, const VkAllocationCallbacks*) {
    driver->livingModules--;
}

VKAPI_ATTR VkResult VKAPI_CALL createFunction(VkDevice, const VkCuFunctionCreateInfoNVX* info,
                                              const VkAllocationCallbacks*, VkCuFunctionNVX* function) {
    const std::lock_guard lock(driver->mutex);
    if (driver->modules.at(numberOf(info->module) - 1) != info->pName) {
        return VK_ERROR_UNKNOWN; // the module has no such entry
    }
    if (driver->functionResult == VK_SUCCESS) {
        driver->livingFunctions++;
        *function = handleOf<VkCuFunctionNVX>(numberOf(info->module));
    }
    return driver->functionResult;
}

VKAPI_ATTR void VKAPI_CALL destroyFunction(VkDevice, VkCuFunctionNVX, const VkAllocationCallbacks*) {
    driver->livingFunctions--;
}

VKAPI_ATTR void VKAPI_CALL launchKernel(VkCommandBuffer, const VkCuLaunchInfoNVX* info) {
    const std::lock_guard lock(driver->mutex);
    FakeLaunch launch{driver->modules.at(numberOf(info->function) - 1),
                      {info->gridDimX, info->gridDimY, info->gridDimZ},
                      {info->blockDimX, info->blockDimY, info->blockDimZ},
                      info->sharedMemBytes,
                      {},
                      {},
                      {}};
    const size_t parameters = launch.entry.ends_with("_maps") ? 3 : 2;
    if (info->sType != VK_STRUCTURE_TYPE_CU_LAUNCH_INFO_NVX || info->paramCount != parameters ||
        info->extraCount != 0) {
        FAIL_CHECK("a launch has " << info->paramCount << " parameters");
        return;
    }
    std::memcpy(&launch.params, info->pParams[0], sizeof launch.params);
    std::memcpy(&launch.constants, info->pParams[1], sizeof launch.constants);
    if (parameters == 3) {
        std::memcpy(&launch.maps.emplace(), info->pParams[2], sizeof *launch.maps);
    }
    driver->launches.push_back(launch);
}

} // namespace

FakeLaunches::FakeLaunches() { driver = this; }

FakeLaunches::~FakeLaunches() { driver = nullptr; }

void FakeLaunches::addTo(DeviceFunctions* functions) {
    functions->vkCreateCuModuleNVX = createModule;
    functions->vkDestroyCuModuleNVX = destroyModule;
    functions->vkCreateCuFunctionNVX = createFunction;
    functions->vkDestroyCuFunctionNVX = destroyFunction;
    functions->vkCmdCuLaunchKernelNVX = launchKernel;
}

PtxTexts FakeLaunches::texts() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> all;
        for (const char* type : {"f16", "bf16"}) {
            for (const char* dim : {"64", "128", "256"}) {
                for (const char* terms : {"", "_terms"}) {
                    all.push_back(std::string("attention_wgmma_") + type + "_" + dim + terms);
                }
            }
            all.push_back(std::string("attention_wgmma_") + type + "_256_maps");
            for (const char* owner : {"rows", "keys"}) {
                for (const char* rest : {"_64", "_128", "_128_terms"}) {
                    all.push_back(std::string("backward_wgmma_") + owner + "_" + type + rest);
                }
            }
        }
        return all;
    }();
    static std::vector<uint8_t> bytes;
    static const std::vector<PtxText> all = [] {
        std::vector<PtxText> made;
        for (const std::string& name : names) {
            made.push_back({name.c_str(), bytes.size(), name.size(), nullptr});
            bytes.insert(bytes.end(), name.begin(), name.end());
        }
        return made;
    }();
    return {all, bytes, true};
}

} // namespace vkf::test
