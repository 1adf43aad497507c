// SPDX-License-Identifier: MIT
//
// The Vulkan functions that the library uses. They are loaded through the application's vkGetInstanceProcAddr, so that
// the library links no loader and has no global table.
#pragma once

#include <vulkan/vulkan_core.h>

#include <vkflash/types.h>

namespace vkf {

#define VKF_INSTANCE_FUNCTIONS(X)                                                                                      \
    X(vkEnumerateDeviceExtensionProperties)                                                                            \
    X(vkGetDeviceProcAddr)                                                                                             \
    X(vkGetPhysicalDeviceFeatures2)                                                                                    \
    X(vkGetPhysicalDeviceProperties2)

#define VKF_DEVICE_FUNCTIONS(X)                                                                                        \
    X(vkCmdBindPipeline)                                                                                               \
    X(vkCmdDispatch)                                                                                                   \
    X(vkCmdPipelineBarrier)                                                                                            \
    X(vkCmdPushConstants)                                                                                              \
    X(vkCreateComputePipelines)                                                                                        \
    X(vkCreatePipelineLayout)                                                                                          \
    X(vkCreateShaderModule)                                                                                            \
    X(vkDestroyPipeline)                                                                                               \
    X(vkDestroyPipelineLayout)                                                                                         \
    X(vkDestroyShaderModule)                                                                                           \
    X(vkGetBufferDeviceAddress)

// Functions of VK_NVX_binary_import. They launch kernels of PTX.
#define VKF_LAUNCH_FUNCTIONS(X)                                                                                        \
    X(vkCmdCuLaunchKernelNVX)                                                                                          \
    X(vkCreateCuFunctionNVX)                                                                                           \
    X(vkCreateCuModuleNVX)                                                                                             \
    X(vkDestroyCuFunctionNVX)                                                                                          \
    X(vkDestroyCuModuleNVX)

#define VKF_DECLARE(name) PFN_##name name = nullptr;

struct InstanceFunctions {
    VKF_INSTANCE_FUNCTIONS(VKF_DECLARE)
    VKF_DECLARE(vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR) // null without the extension
    VKF_DECLARE(vkSetDebugUtilsObjectNameEXT)                      // null without the extension
};

struct DeviceFunctions {
    VKF_DEVICE_FUNCTIONS(VKF_DECLARE)
    VKF_LAUNCH_FUNCTIONS(VKF_DECLARE)         // all null unless all of them are there
    VKF_DECLARE(vkSetDebugUtilsObjectNameEXT) // null without the extension
};

#undef VKF_DECLARE

VkfResult loadInstanceFunctions(PFN_vkGetInstanceProcAddr getInstanceProcAddr, VkInstance instance,
                                InstanceFunctions* functions, VkfMessage* message);

VkfResult loadDeviceFunctions(const InstanceFunctions& instanceFunctions, VkDevice device, DeviceFunctions* functions,
                              VkfMessage* message);

// For devices with VK_NVX_binary_import. Without one of the functions, all stay null.
void loadLaunchFunctions(const InstanceFunctions& instanceFunctions, VkDevice device, DeviceFunctions* functions);

} // namespace vkf
