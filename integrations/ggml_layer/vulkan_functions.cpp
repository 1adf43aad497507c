// SPDX-License-Identifier: MIT
#include "vulkan_functions.hpp"

namespace vkf::layer {

// Under the name of an extension where the device has no later version of Vulkan.
#define VKF_LAYER_LOAD(name)                                                                                           \
    this->name = reinterpret_cast<PFN_vk##name>(get("vk" #name));                                                      \
    if (this->name == nullptr) {                                                                                       \
        this->name = reinterpret_cast<PFN_vk##name>(get("vk" #name "KHR"));                                            \
    }

InstanceFunctions::InstanceFunctions(PFN_vkGetInstanceProcAddr getInstanceProcAddr, VkInstance instance)
    : GetInstanceProcAddr(getInstanceProcAddr) {
    const auto get = [=](const char* name) { return getInstanceProcAddr(instance, name); };
    VKF_LAYER_INSTANCE_FUNCTIONS(VKF_LAYER_LOAD)
}

DeviceFunctions::DeviceFunctions(PFN_vkGetDeviceProcAddr getDeviceProcAddr, VkDevice device)
    : GetDeviceProcAddr(getDeviceProcAddr) {
    const auto get = [=](const char* name) { return getDeviceProcAddr(device, name); };
    VKF_LAYER_DEVICE_FUNCTIONS(VKF_LAYER_LOAD)
}

} // namespace vkf::layer
