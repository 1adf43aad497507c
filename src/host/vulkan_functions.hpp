// SPDX-License-Identifier: MIT
//
// The Vulkan functions of this layer. Each loader, instance and device has a table of its own, so that several Devices
// can be open at once. Members have the names of Vulkan without `vk`.
#pragma once

#include <vulkan/vulkan_core.h>

namespace vkf::host {

#define VKF_HOST_LOADER_FUNCTIONS(X)                                                                                   \
    X(CreateInstance)                                                                                                  \
    X(EnumerateInstanceExtensionProperties)                                                                            \
    X(EnumerateInstanceLayerProperties)                                                                                \
    X(EnumerateInstanceVersion)

#define VKF_HOST_INSTANCE_FUNCTIONS(X)                                                                                 \
    X(CreateDevice)                                                                                                    \
    X(DestroyInstance)                                                                                                 \
    X(EnumerateDeviceExtensionProperties)                                                                              \
    X(EnumeratePhysicalDevices)                                                                                        \
    X(GetDeviceProcAddr)                                                                                               \
    X(GetPhysicalDeviceFeatures2)                                                                                      \
    X(GetPhysicalDeviceMemoryProperties)                                                                               \
    X(GetPhysicalDeviceProperties)                                                                                     \
    X(GetPhysicalDeviceProperties2)                                                                                    \
    X(GetPhysicalDeviceQueueFamilyProperties)

#define VKF_HOST_DEVICE_FUNCTIONS(X)                                                                                   \
    X(AllocateCommandBuffers)                                                                                          \
    X(BeginCommandBuffer)                                                                                              \
    X(CmdBindPipeline)                                                                                                 \
    X(CmdCopyBuffer)                                                                                                   \
    X(CmdDispatch)                                                                                                     \
    X(CmdFillBuffer)                                                                                                   \
    X(CmdPipelineBarrier)                                                                                              \
    X(CmdPushConstants)                                                                                                \
    X(CmdResetQueryPool)                                                                                               \
    X(CmdWriteTimestamp)                                                                                               \
    X(CreateCommandPool)                                                                                               \
    X(CreateComputePipelines)                                                                                          \
    X(CreateFence)                                                                                                     \
    X(CreatePipelineLayout)                                                                                            \
    X(CreateQueryPool)                                                                                                 \
    X(CreateShaderModule)                                                                                              \
    X(DestroyCommandPool)                                                                                              \
    X(DestroyDevice)                                                                                                   \
    X(DestroyFence)                                                                                                    \
    X(DestroyPipeline)                                                                                                 \
    X(DestroyPipelineLayout)                                                                                           \
    X(DestroyQueryPool)                                                                                                \
    X(DestroyShaderModule)                                                                                             \
    X(EndCommandBuffer)                                                                                                \
    X(GetBufferDeviceAddress)                                                                                          \
    X(GetDeviceQueue)                                                                                                  \
    X(GetQueryPoolResults)                                                                                             \
    X(QueueSubmit)                                                                                                     \
    X(ResetCommandPool)                                                                                                \
    X(ResetFences)                                                                                                     \
    X(WaitForFences)

#define VKF_HOST_DECLARE(name) PFN_vk##name name;

// Constructors throw Error(VKF_ERROR_VULKAN), which names a function that the implementation lacks.
struct LoaderFunctions {
    explicit LoaderFunctions(PFN_vkGetInstanceProcAddr getInstanceProcAddr);
    VKF_HOST_LOADER_FUNCTIONS(VKF_HOST_DECLARE)
};

struct InstanceFunctions {
    InstanceFunctions(PFN_vkGetInstanceProcAddr getInstanceProcAddr, VkInstance instance);
    VKF_HOST_INSTANCE_FUNCTIONS(VKF_HOST_DECLARE)
};

struct DeviceFunctions {
    DeviceFunctions(PFN_vkGetDeviceProcAddr getDeviceProcAddr, VkDevice device);
    VKF_HOST_DEVICE_FUNCTIONS(VKF_HOST_DECLARE)
};

#undef VKF_HOST_DECLARE

} // namespace vkf::host
