// SPDX-License-Identifier: MIT
//
// The functions of Vulkan that tests make fail.
#pragma once

#include <vulkan/vulkan_core.h>

// The functions that the library, its host layer and its allocator call.
#define VKF_TEST_FUNCTIONS(X)                                                                                          \
    X(vkAllocateCommandBuffers)                                                                                        \
    X(vkAllocateMemory)                                                                                                \
    X(vkBeginCommandBuffer)                                                                                            \
    X(vkBindBufferMemory)                                                                                              \
    X(vkBindBufferMemory2)                                                                                             \
    X(vkCmdBindPipeline)                                                                                               \
    X(vkCmdCopyBuffer)                                                                                                 \
    X(vkCmdDispatch)                                                                                                   \
    X(vkCmdFillBuffer)                                                                                                 \
    X(vkCmdPipelineBarrier)                                                                                            \
    X(vkCmdPushConstants)                                                                                              \
    X(vkCmdResetQueryPool)                                                                                             \
    X(vkCmdWriteTimestamp)                                                                                             \
    X(vkCreateBuffer)                                                                                                  \
    X(vkCreateCommandPool)                                                                                             \
    X(vkCreateComputePipelines)                                                                                        \
    X(vkCreateDebugUtilsMessengerEXT)                                                                                  \
    X(vkCreateDevice)                                                                                                  \
    X(vkCreateFence)                                                                                                   \
    X(vkCreateInstance)                                                                                                \
    X(vkCreatePipelineLayout)                                                                                          \
    X(vkCreateQueryPool)                                                                                               \
    X(vkCreateShaderModule)                                                                                            \
    X(vkDestroyBuffer)                                                                                                 \
    X(vkDestroyCommandPool)                                                                                            \
    X(vkDestroyDebugUtilsMessengerEXT)                                                                                 \
    X(vkDestroyDevice)                                                                                                 \
    X(vkDestroyFence)                                                                                                  \
    X(vkDestroyInstance)                                                                                               \
    X(vkDestroyPipeline)                                                                                               \
    X(vkDestroyPipelineLayout)                                                                                         \
    X(vkDestroyQueryPool)                                                                                              \
    X(vkDestroyShaderModule)                                                                                           \
    X(vkEndCommandBuffer)                                                                                              \
    X(vkEnumerateDeviceExtensionProperties)                                                                            \
    X(vkEnumerateInstanceExtensionProperties)                                                                          \
    X(vkEnumerateInstanceLayerProperties)                                                                              \
    X(vkEnumerateInstanceVersion)                                                                                      \
    X(vkEnumeratePhysicalDevices)                                                                                      \
    X(vkFreeMemory)                                                                                                    \
    X(vkGetBufferDeviceAddress)                                                                                        \
    X(vkGetBufferMemoryRequirements)                                                                                   \
    X(vkGetBufferMemoryRequirements2)                                                                                  \
    X(vkGetDeviceBufferMemoryRequirements)                                                                             \
    X(vkGetDeviceQueue)                                                                                                \
    X(vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR)                                                               \
    X(vkGetPhysicalDeviceFeatures2)                                                                                    \
    X(vkGetPhysicalDeviceMemoryProperties)                                                                             \
    X(vkGetPhysicalDeviceMemoryProperties2)                                                                            \
    X(vkGetPhysicalDeviceProperties)                                                                                   \
    X(vkGetPhysicalDeviceProperties2)                                                                                  \
    X(vkGetPhysicalDeviceQueueFamilyProperties)                                                                        \
    X(vkGetQueryPoolResults)                                                                                           \
    X(vkMapMemory)                                                                                                     \
    X(vkQueueSubmit)                                                                                                   \
    X(vkResetCommandPool)                                                                                              \
    X(vkResetFences)                                                                                                   \
    X(vkSetDebugUtilsObjectNameEXT)                                                                                    \
    X(vkUnmapMemory)                                                                                                   \
    X(vkWaitForFences)
