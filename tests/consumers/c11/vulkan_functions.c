/* SPDX-License-Identifier: MIT */
#include "vulkan_functions.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#define DEFINE_VULKAN_FUNCTION(name) PFN_##name name;
DEFINE_VULKAN_FUNCTION(vkGetInstanceProcAddr)
DEFINE_VULKAN_FUNCTION(vkCreateInstance)
FOR_EACH_VULKAN_FUNCTION(DEFINE_VULKAN_FUNCTION)

bool loadVulkan(void) {
    void* library = dlopen("libvulkan.so.1", RTLD_NOW);
    void* entry = library != NULL ? dlsym(library, "vkGetInstanceProcAddr") : NULL;
    if (entry == NULL) {
        return false;
    }
    /* C has no conversion from an object pointer to a function pointer. POSIX says that they have the same bytes. */
    memcpy(&vkGetInstanceProcAddr, &entry, sizeof entry);
    vkCreateInstance = (PFN_vkCreateInstance)vkGetInstanceProcAddr(NULL, "vkCreateInstance");
    return vkCreateInstance != NULL;
}

#define LOAD_VULKAN_FUNCTION(name) name = (PFN_##name)vkGetInstanceProcAddr(instance, #name);
void loadInstanceFunctions(VkInstance instance) { FOR_EACH_VULKAN_FUNCTION(LOAD_VULKAN_FUNCTION) }
