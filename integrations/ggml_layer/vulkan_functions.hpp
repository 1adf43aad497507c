// SPDX-License-Identifier: MIT
//
// The functions of the next layer, or of the driver, that this layer calls. Members have the names of Vulkan without
// `vk`. Functions of extensions and of later versions may be null.
#pragma once

#include <vulkan/vulkan_core.h>

namespace vkf::layer {

#define VKF_LAYER_INSTANCE_FUNCTIONS(X)                                                                                \
    X(DestroyInstance)                                                                                                 \
    X(EnumerateDeviceExtensionProperties)                                                                              \
    X(GetPhysicalDeviceMemoryProperties)                                                                               \
    X(GetPhysicalDeviceProperties2)

// Functions whose wrapper in layer.cpp does more than those of the lists below.
#define VKF_LAYER_WRAPPED(X)                                                                                           \
    X(AllocateCommandBuffers)                                                                                          \
    X(AllocateDescriptorSets)                                                                                          \
    X(AllocateMemory)                                                                                                  \
    X(BeginCommandBuffer)                                                                                              \
    X(CmdBindDescriptorSets)                                                                                           \
    X(CmdBindPipeline)                                                                                                 \
    X(CmdDispatch)                                                                                                     \
    X(CmdPipelineBarrier)                                                                                              \
    X(CmdPushConstants)                                                                                                \
    X(CreateBuffer)                                                                                                    \
    X(CreateCommandPool)                                                                                               \
    X(CreateComputePipelines)                                                                                          \
    X(CreateDescriptorSetLayout)                                                                                       \
    X(CreateShaderModule)                                                                                              \
    X(DestroyBuffer)                                                                                                   \
    X(DestroyCommandPool)                                                                                              \
    X(DestroyDescriptorPool)                                                                                           \
    X(DestroyDescriptorSetLayout)                                                                                      \
    X(DestroyPipeline)                                                                                                 \
    X(DestroyShaderModule)                                                                                             \
    X(EndCommandBuffer)                                                                                                \
    X(FreeCommandBuffers)                                                                                              \
    X(FreeDescriptorSets)                                                                                              \
    X(GetDeviceBufferMemoryRequirements)                                                                               \
    X(ResetCommandBuffer)                                                                                              \
    X(ResetCommandPool)                                                                                                \
    X(ResetDescriptorPool)                                                                                             \
    X(UpdateDescriptorSets)                                                                                            \
    X(UpdateDescriptorSetWithTemplate)

// Commands that may use what a dispatch before them wrote.
#define VKF_LAYER_OTHER_COMMANDS(X)                                                                                    \
    X(CmdBeginRenderPass)                                                                                              \
    X(CmdBeginRenderPass2)                                                                                             \
    X(CmdBeginRendering)                                                                                               \
    X(CmdCopyBuffer)                                                                                                   \
    X(CmdCopyBuffer2)                                                                                                  \
    X(CmdCopyBufferToImage)                                                                                            \
    X(CmdCopyBufferToImage2)                                                                                           \
    X(CmdCopyImageToBuffer)                                                                                            \
    X(CmdCopyImageToBuffer2)                                                                                           \
    X(CmdCopyQueryPoolResults)                                                                                         \
    X(CmdDispatchBase)                                                                                                 \
    X(CmdDispatchIndirect)                                                                                             \
    X(CmdFillBuffer)                                                                                                   \
    X(CmdSetEvent)                                                                                                     \
    X(CmdSetEvent2)                                                                                                    \
    X(CmdUpdateBuffer)                                                                                                 \
    X(CmdWaitEvents)                                                                                                   \
    X(CmdWaitEvents2)

// Commands that bind descriptors in ways that the layer does not follow.
#define VKF_LAYER_SET_COMMANDS(X)                                                                                      \
    X(CmdBindDescriptorSets2)                                                                                          \
    X(CmdPushDescriptorSet)                                                                                            \
    X(CmdPushDescriptorSet2)                                                                                           \
    X(CmdPushDescriptorSetWithTemplate)                                                                                \
    X(CmdPushDescriptorSetWithTemplate2)                                                                               \
    X(CmdSetDescriptorBufferOffsetsEXT)                                                                                \
    X(CmdSetDescriptorBufferOffsets2EXT)

// Commands that set push constants in ways that the layer does not follow.
#define VKF_LAYER_CONSTANT_COMMANDS(X) X(CmdPushConstants2)

// Commands that bind something that is no pipeline.
#define VKF_LAYER_SHADER_COMMANDS(X) X(CmdBindShadersEXT)

// Commands that run secondary command buffers.
#define VKF_LAYER_SECONDARY_COMMANDS(X) X(CmdExecuteCommands)

// Functions without a wrapper, which the layer calls for itself.
#define VKF_LAYER_CALLED(X)                                                                                            \
    X(BindBufferMemory)                                                                                                \
    X(DestroyDevice)                                                                                                   \
    X(FreeMemory)                                                                                                      \
    X(GetBufferMemoryRequirements)                                                                                     \
    X(MapMemory)

#define VKF_LAYER_DEVICE_FUNCTIONS(X)                                                                                  \
    VKF_LAYER_WRAPPED(X)                                                                                               \
    VKF_LAYER_OTHER_COMMANDS(X)                                                                                        \
    VKF_LAYER_SET_COMMANDS(X)                                                                                          \
    VKF_LAYER_CONSTANT_COMMANDS(X)                                                                                     \
    VKF_LAYER_SHADER_COMMANDS(X)                                                                                       \
    VKF_LAYER_SECONDARY_COMMANDS(X)                                                                                    \
    VKF_LAYER_CALLED(X)

#define VKF_LAYER_DECLARE(name) PFN_vk##name name;

struct InstanceFunctions {
    InstanceFunctions(PFN_vkGetInstanceProcAddr getInstanceProcAddr, VkInstance instance);
    PFN_vkGetInstanceProcAddr GetInstanceProcAddr;
    VKF_LAYER_INSTANCE_FUNCTIONS(VKF_LAYER_DECLARE)
};

struct DeviceFunctions {
    DeviceFunctions(PFN_vkGetDeviceProcAddr getDeviceProcAddr, VkDevice device);
    PFN_vkGetDeviceProcAddr GetDeviceProcAddr;
    VKF_LAYER_DEVICE_FUNCTIONS(VKF_LAYER_DECLARE)
};

#undef VKF_LAYER_DECLARE

} // namespace vkf::layer
