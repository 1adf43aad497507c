// SPDX-License-Identifier: MIT
//
// From Vulkan's handles to what the layer knows of them.
#pragma once

#include <vulkan/vulkan_core.h>

#include <memory>

#include "commands.hpp"
#include "device.hpp"

namespace vkf::layer {

struct Instance {
    Instance(PFN_vkGetInstanceProcAddr getInstanceProcAddr, VkInstance created, uint32_t version)
        : handle(created), functions(getInstanceProcAddr, created), apiVersion(version) {}
    VkInstance handle;
    InstanceFunctions functions;
    uint32_t apiVersion; // of the application
};

// Objects of the whole process. All functions are thread-safe, as long as nobody uses an object that is removed.

void addInstance(std::unique_ptr<Instance> instance);
void removeInstance(VkInstance handle);
// Also by a physical device of it.
Instance* instanceOf(VkInstance handle);
Instance* instanceOf(VkPhysicalDevice handle);

Device& addDevice(std::unique_ptr<Device> device);
// Destroys the Device with all its command buffers.
void removeDevice(VkDevice handle);
// Null for a device of which the layer does not know.
Device* deviceOf(VkDevice handle);

void addCommandPool(Device& device, VkCommandPool pool);
void resetCommandPool(const Device& device, VkCommandPool pool);
void removeCommandPool(const Device& device, VkCommandPool pool);
void addCommandBuffers(Device& device, VkCommandPool pool, uint32_t count, const VkCommandBuffer* handles);
void removeCommandBuffers(uint32_t count, const VkCommandBuffer* handles);
CommandBuffer& commandBufferOf(VkCommandBuffer handle);

} // namespace vkf::layer
