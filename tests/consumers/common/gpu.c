/* SPDX-License-Identifier: MIT */
#include "gpu.h"

#include <stdio.h>
#include <stdlib.h>

void require(bool holds, const char* sentence) {
    if (!holds) {
        fprintf(stderr, "%s\n", sentence);
        exit(1);
    }
}

void checkVulkan(VkResult result, const char* call) {
    if (result != VK_SUCCESS) {
        fprintf(stderr, "%s returned %d\n", call, (int)result);
        exit(1);
    }
}

void checkVkflash(VkfResult result, const VkfMessage* message) {
    if (result != VKF_SUCCESS) {
        fprintf(stderr, "%s: %s\n", vkfResultString(result), message->text);
        exit(1);
    }
}

/* ---- Instance and device -------------------------------------------------------------------- */

static void createInstance(Gpu* gpu) {
    const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                           .apiVersion = VK_API_VERSION_1_3};
    const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                       .pApplicationInfo = &application};
    require(loadVulkan(), "the Vulkan loader was not found");
    checkVulkan(vkCreateInstance(&info, NULL, &gpu->instance), "vkCreateInstance");
    loadInstanceFunctions(gpu->instance);
}

static uint32_t computeFamily(VkPhysicalDevice device) {
    VkQueueFamilyProperties families[16];
    uint32_t count = sizeof families / sizeof families[0];
    vkGetPhysicalDeviceQueueFamilyProperties(device, &count, families);
    for (uint32_t i = 0; i < count; i++) {
        if ((families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) != 0) {
            return i;
        }
    }
    require(false, "the device has no queue for compute work");
    return 0;
}

static void choosePhysicalDevice(Gpu* gpu) {
    uint32_t count = 1;
    const VkResult result = vkEnumeratePhysicalDevices(gpu->instance, &count, &gpu->physicalDevice);
    require((result == VK_SUCCESS || result == VK_INCOMPLETE) && count == 1, "there is no Vulkan device");
    gpu->queueFamily = computeFamily(gpu->physicalDevice);
}

/* vkflash names the features and extensions to enable. It owns them until they are freed. */
static void createDevice(Gpu* gpu) {
    const VkfDeviceQuery query = {.structSize = sizeof query,
                                  .getInstanceProcAddr = vkGetInstanceProcAddr,
                                  .instance = gpu->instance,
                                  .physicalDevice = gpu->physicalDevice};
    VkfDeviceRequirements needs = {.structSize = sizeof needs};
    VkfMessage message;
    checkVkflash(vkfGetDeviceRequirements(&query, &needs, &message), &message);
    gpu->features = needs.usableFeatures;

    const float priority = 1;
    const VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                           .queueFamilyIndex = gpu->queueFamily,
                                           .queueCount = 1,
                                           .pQueuePriorities = &priority};
    const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                     .pNext = needs.features,
                                     .queueCreateInfoCount = 1,
                                     .pQueueCreateInfos = &queue,
                                     .enabledExtensionCount = needs.extensionCount,
                                     .ppEnabledExtensionNames = needs.extensions};
    checkVulkan(vkCreateDevice(gpu->physicalDevice, &info, NULL, &gpu->device), "vkCreateDevice");
    vkfFreeDeviceRequirements(&needs);
    require(needs.features == NULL && needs.extensions == NULL, "freed requirements still have pointers");
    vkGetDeviceQueue(gpu->device, gpu->queueFamily, 0, &gpu->queue);
}

static void createCommandBuffer(Gpu* gpu) {
    const VkCommandPoolCreateInfo poolInfo = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                              .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                              .queueFamilyIndex = gpu->queueFamily};
    checkVulkan(vkCreateCommandPool(gpu->device, &poolInfo, NULL, &gpu->pool), "vkCreateCommandPool");
    const VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                              .commandPool = gpu->pool,
                                              .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                              .commandBufferCount = 1};
    checkVulkan(vkAllocateCommandBuffers(gpu->device, &info, &gpu->commandBuffer), "vkAllocateCommandBuffers");
}

void openGpu(Gpu* gpu) {
    createInstance(gpu);
    choosePhysicalDevice(gpu);
    createDevice(gpu);
    createCommandBuffer(gpu);
}

void closeGpu(Gpu* gpu) {
    vkDestroyCommandPool(gpu->device, gpu->pool, NULL);
    vkDestroyDevice(gpu->device, NULL);
    vkDestroyInstance(gpu->instance, NULL);
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static uint32_t hostMemoryType(VkPhysicalDevice device, uint32_t allowed) {
    const VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    VkPhysicalDeviceMemoryProperties memory;
    vkGetPhysicalDeviceMemoryProperties(device, &memory);
    for (uint32_t i = 0; i < memory.memoryTypeCount; i++) {
        if ((allowed >> i & 1) != 0 && (memory.memoryTypes[i].propertyFlags & wanted) == wanted) {
            return i;
        }
    }
    require(false, "the device has no memory that the host can write");
    return 0;
}

/* The kernels read and write memory through addresses: both flags with DEVICE_ADDRESS are for vkflash. */
void createArray(const Gpu* gpu, VkDeviceSize bytes, Array* array) {
    const VkBufferCreateInfo bufferInfo = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                           .size = bytes,
                                           .usage = VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT |
                                                    VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    checkVulkan(vkCreateBuffer(gpu->device, &bufferInfo, NULL, &array->buffer), "vkCreateBuffer");
    VkMemoryRequirements needs;
    vkGetBufferMemoryRequirements(gpu->device, array->buffer, &needs);

    const VkMemoryAllocateFlagsInfo flags = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                             .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
    const VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                       .pNext = &flags,
                                       .allocationSize = needs.size,
                                       .memoryTypeIndex = hostMemoryType(gpu->physicalDevice, needs.memoryTypeBits)};
    checkVulkan(vkAllocateMemory(gpu->device, &info, NULL, &array->memory), "vkAllocateMemory");
    checkVulkan(vkBindBufferMemory(gpu->device, array->buffer, array->memory, 0), "vkBindBufferMemory");
    checkVulkan(vkMapMemory(gpu->device, array->memory, 0, VK_WHOLE_SIZE, 0, &array->data), "vkMapMemory");
    array->bytes = bytes;
    const VkBufferDeviceAddressInfo addressInfo = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                                   .buffer = array->buffer};
    array->address = vkGetBufferDeviceAddress(gpu->device, &addressInfo);
}

void destroyArray(const Gpu* gpu, Array* array) {
    vkDestroyBuffer(gpu->device, array->buffer, NULL);
    vkFreeMemory(gpu->device, array->memory, NULL);
}

/* ---- Commands -------------------------------------------------------------------------------- */

void beginCommands(const Gpu* gpu) {
    const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                           .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    checkVulkan(vkBeginCommandBuffer(gpu->commandBuffer, &info), "vkBeginCommandBuffer");
}

void recordPoison(const Gpu* gpu, const Array* array) {
    vkCmdFillBuffer(gpu->commandBuffer, array->buffer, 0, VK_WHOLE_SIZE, UINT32_MAX);
}

static void recordBarrier(const Gpu* gpu, VkPipelineStageFlags from, VkAccessFlags written, VkPipelineStageFlags to,
                          VkAccessFlags accessed) {
    const VkMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER, .srcAccessMask = written, .dstAccessMask = accessed};
    vkCmdPipelineBarrier(gpu->commandBuffer, from, to, 0, 1, &barrier, 0, NULL, 0, NULL);
}

/* What the host wrote before vkQueueSubmit needs no barrier. */
void barrierBeforeCompute(const Gpu* gpu) {
    recordBarrier(gpu, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                  VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT);
}

void barrierAfterCompute(const Gpu* gpu) {
    recordBarrier(gpu, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
                  VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_HOST_BIT,
                  VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_HOST_READ_BIT);
}

void submitCommands(const Gpu* gpu) {
    checkVulkan(vkEndCommandBuffer(gpu->commandBuffer), "vkEndCommandBuffer");
    const VkSubmitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &gpu->commandBuffer};
    checkVulkan(vkQueueSubmit(gpu->queue, 1, &info, VK_NULL_HANDLE), "vkQueueSubmit");
    checkVulkan(vkQueueWaitIdle(gpu->queue), "vkQueueWaitIdle");
}
