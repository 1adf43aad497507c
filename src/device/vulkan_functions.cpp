// SPDX-License-Identifier: MIT
#include "device/vulkan_functions.hpp"

#include "base/message.hpp"

namespace vkf {

#define VKF_LOAD(name)                                                                                                 \
    functions->name = reinterpret_cast<PFN_##name>(load(#name));                                                       \
    if (functions->name == nullptr) {                                                                                  \
        return fail(message, VKF_ERROR_MISSING_FEATURE,                                                                \
                    "the driver has no " #name "; the instance must be made for Vulkan 1.2 or later");                 \
    }

VkfResult loadInstanceFunctions(PFN_vkGetInstanceProcAddr getInstanceProcAddr, VkInstance instance,
                                InstanceFunctions* functions, VkfMessage* message) {
    const auto load = [&](const char* name) { return getInstanceProcAddr(instance, name); };
    VKF_INSTANCE_FUNCTIONS(VKF_LOAD)
    functions->vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR =
        reinterpret_cast<PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR>(
            load("vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"));
    functions->vkSetDebugUtilsObjectNameEXT =
        reinterpret_cast<PFN_vkSetDebugUtilsObjectNameEXT>(load("vkSetDebugUtilsObjectNameEXT"));
    return VKF_SUCCESS;
}

VkfResult loadDeviceFunctions(const InstanceFunctions& instanceFunctions, VkDevice device, DeviceFunctions* functions,
                              VkfMessage* message) {
    const auto load = [&](const char* name) { return instanceFunctions.vkGetDeviceProcAddr(device, name); };
    VKF_DEVICE_FUNCTIONS(VKF_LOAD)
    functions->vkSetDebugUtilsObjectNameEXT = instanceFunctions.vkSetDebugUtilsObjectNameEXT;
    return VKF_SUCCESS;
}

void loadLaunchFunctions(const InstanceFunctions& instanceFunctions, VkDevice device, DeviceFunctions* functions) {
    DeviceFunctions loaded = *functions;
    bool complete = true;
#define VKF_LOAD_LAUNCH(name)                                                                                          \
    loaded.name = reinterpret_cast<PFN_##name>(instanceFunctions.vkGetDeviceProcAddr(device, #name));                  \
    complete = complete && loaded.name != nullptr;
    VKF_LAUNCH_FUNCTIONS(VKF_LOAD_LAUNCH)
#undef VKF_LOAD_LAUNCH
    if (complete) {
        *functions = loaded;
    }
}

} // namespace vkf
