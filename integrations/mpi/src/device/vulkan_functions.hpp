// SPDX-License-Identifier: MIT
//
// The Vulkan functions that the library calls on a device. Members have the names of Vulkan without `vk`.
#pragma once

#include <vulkan/vulkan_core.h>

namespace vkf::mpi {

#define VKF_MPI_DEVICE_FUNCTIONS(X)                                                                                    \
    X(AllocateCommandBuffers)                                                                                          \
    X(AllocateMemory)                                                                                                  \
    X(BeginCommandBuffer)                                                                                              \
    X(BindBufferMemory)                                                                                                \
    X(CmdBindPipeline)                                                                                                 \
    X(CmdCopyBuffer)                                                                                                   \
    X(CmdDispatch)                                                                                                     \
    X(CmdFillBuffer)                                                                                                   \
    X(CmdPipelineBarrier)                                                                                              \
    X(CmdPushConstants)                                                                                                \
    X(CreateBuffer)                                                                                                    \
    X(CreateCommandPool)                                                                                               \
    X(CreateComputePipelines)                                                                                          \
    X(CreatePipelineLayout)                                                                                            \
    X(CreateSemaphore)                                                                                                 \
    X(CreateShaderModule)                                                                                              \
    X(DestroyBuffer)                                                                                                   \
    X(DestroyCommandPool)                                                                                              \
    X(DestroyDevice)                                                                                                   \
    X(DestroyPipeline)                                                                                                 \
    X(DestroyPipelineLayout)                                                                                           \
    X(DestroySemaphore)                                                                                                \
    X(DestroyShaderModule)                                                                                             \
    X(DeviceWaitIdle)                                                                                                  \
    X(EndCommandBuffer)                                                                                                \
    X(FreeMemory)                                                                                                      \
    X(GetBufferDeviceAddress)                                                                                          \
    X(GetBufferMemoryRequirements)                                                                                     \
    X(GetDeviceQueue)                                                                                                  \
    X(GetMemoryHostPointerPropertiesEXT)                                                                               \
    X(GetSemaphoreCounterValue)                                                                                        \
    X(MapMemory)                                                                                                       \
    X(QueueSubmit)                                                                                                     \
    X(WaitSemaphores)

class DeviceFunctions {
    PFN_vkGetDeviceProcAddr load_; // before the functions, which it loads
    VkDevice device_;

public:
    DeviceFunctions(PFN_vkGetDeviceProcAddr load, VkDevice device) : load_(load), device_(device) {}

#define VKF_MPI_LOADED(name) PFN_vk##name name = reinterpret_cast<PFN_vk##name>(load_(device_, "vk" #name));
    VKF_MPI_DEVICE_FUNCTIONS(VKF_MPI_LOADED)
#undef VKF_MPI_LOADED
};

} // namespace vkf::mpi
