/* SPDX-License-Identifier: MIT
 *
 * What every application with compute work has: an instance, a device, a queue, a command buffer, and memory. Each
 * consumer has a vulkan_functions.h of its own, which says where the Vulkan functions come from.
 *
 * A function that fails writes one sentence to stderr and ends the program with status 1. */
#ifndef GPU_H
#define GPU_H

#include "vulkan_functions.h"

#include <stdbool.h>

#include <vkflash/vkflash.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct Gpu {
    VkInstance instance;
    VkPhysicalDevice physicalDevice;
    VkDevice device;
    VkQueue queue;
    uint32_t queueFamily;
    VkfFeatures features; /* what vkflash may use of the device */
    VkCommandPool pool;
    VkCommandBuffer commandBuffer;
} Gpu;

/* One buffer in memory of its own, mapped for as long as it lives. */
typedef struct Array {
    VkDeviceSize bytes;
    VkBuffer buffer;
    VkDeviceMemory memory;
    VkDeviceAddress address;
    void* data;
} Array;

void require(bool holds, const char* sentence);
void checkVulkan(VkResult result, const char* call);
void checkVkflash(VkfResult result, const VkfMessage* message);

void openGpu(Gpu* gpu);
void closeGpu(Gpu* gpu);

void createArray(const Gpu* gpu, VkDeviceSize bytes, Array* array);
void destroyArray(const Gpu* gpu, Array* array);

/* Begins the command buffer again from the start. */
void beginCommands(const Gpu* gpu);
/* Records that all bytes of the array become 0xff: NaN in floats. barrierBeforeCompute must follow. */
void recordPoison(const Gpu* gpu, const Array* array);
/* Ends recordPoison, so that compute shaders may read and write the arrays. */
void barrierBeforeCompute(const Gpu* gpu);
/* Makes what compute shaders wrote available to compute shaders and to the host. */
void barrierAfterCompute(const Gpu* gpu);
/* Ends the command buffer, submits it and waits for it. */
void submitCommands(const Gpu* gpu);

#ifdef __cplusplus
}
#endif

#endif
