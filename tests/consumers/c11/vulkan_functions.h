/* SPDX-License-Identifier: MIT
 *
 * Loads the Vulkan functions that the program calls, under their usual names, from the loader's library. */
#ifndef VULKAN_FUNCTIONS_H
#define VULKAN_FUNCTIONS_H

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

#include <stdbool.h>

/* Every function but vkGetInstanceProcAddr and vkCreateInstance, which come before an instance exists. */
#define FOR_EACH_VULKAN_FUNCTION(use)                                                                                  \
    use(vkAllocateCommandBuffers) use(vkAllocateMemory) use(vkBeginCommandBuffer) use(vkBindBufferMemory)              \
        use(vkCmdFillBuffer) use(vkCmdPipelineBarrier) use(vkCreateBuffer) use(vkCreateCommandPool)                    \
            use(vkCreateDevice) use(vkDestroyBuffer) use(vkDestroyCommandPool) use(vkDestroyDevice)                    \
                use(vkDestroyInstance) use(vkEndCommandBuffer) use(vkEnumeratePhysicalDevices) use(vkFreeMemory)       \
                    use(vkGetBufferDeviceAddress) use(vkGetBufferMemoryRequirements) use(vkGetDeviceQueue)             \
                        use(vkGetPhysicalDeviceMemoryProperties) use(vkGetPhysicalDeviceQueueFamilyProperties)         \
                            use(vkMapMemory) use(vkQueueSubmit) use(vkQueueWaitIdle)

#define DECLARE_VULKAN_FUNCTION(name) extern PFN_##name name;
DECLARE_VULKAN_FUNCTION(vkGetInstanceProcAddr)
DECLARE_VULKAN_FUNCTION(vkCreateInstance)
FOR_EACH_VULKAN_FUNCTION(DECLARE_VULKAN_FUNCTION)
#undef DECLARE_VULKAN_FUNCTION

/* Loads vkGetInstanceProcAddr and vkCreateInstance. Returns false if there is no loader. */
bool loadVulkan(void);
/* Loads all other functions. */
void loadInstanceFunctions(VkInstance instance);

#endif
