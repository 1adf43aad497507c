// SPDX-License-Identifier: MIT
#include "host/vulkan_functions.hpp"

#include <string>

#include "host/error.hpp"

namespace vkf::host {
namespace {

template <typename Function> Function required(PFN_vkVoidFunction function, const char* name) {
    if (function == nullptr) {
        throw Error(VKF_ERROR_VULKAN,
                    std::string("the Vulkan implementation lacks ") + name + "; vkflash needs Vulkan 1.2");
    }
    return reinterpret_cast<Function>(function);
}

} // namespace

#define VKF_HOST_ASSIGN(name) name = required<PFN_vk##name>(load("vk" #name), "vk" #name);

LoaderFunctions::LoaderFunctions(PFN_vkGetInstanceProcAddr getInstanceProcAddr) {
    const auto load = [&](const char* name) { return getInstanceProcAddr(nullptr, name); };
    VKF_HOST_LOADER_FUNCTIONS(VKF_HOST_ASSIGN)
}

InstanceFunctions::InstanceFunctions(PFN_vkGetInstanceProcAddr getInstanceProcAddr, VkInstance instance) {
    const auto load = [&](const char* name) { return getInstanceProcAddr(instance, name); };
    VKF_HOST_INSTANCE_FUNCTIONS(VKF_HOST_ASSIGN)
}

DeviceFunctions::DeviceFunctions(PFN_vkGetDeviceProcAddr getDeviceProcAddr, VkDevice device) {
    const auto load = [&](const char* name) { return getDeviceProcAddr(device, name); };
    VKF_HOST_DEVICE_FUNCTIONS(VKF_HOST_ASSIGN)
}

} // namespace vkf::host
