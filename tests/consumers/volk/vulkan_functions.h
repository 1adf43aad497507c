/* SPDX-License-Identifier: MIT
 *
 * The Vulkan functions come from volk. */
#ifndef VULKAN_FUNCTIONS_H
#define VULKAN_FUNCTIONS_H

#include <volk.h>

#include <stdbool.h>

static inline bool loadVulkan(void) { return volkInitialize() == VK_SUCCESS; }
static inline void loadInstanceFunctions(VkInstance instance) { volkLoadInstance(instance); }

#endif
