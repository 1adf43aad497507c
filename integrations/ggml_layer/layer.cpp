// SPDX-License-Identifier: MIT
//
// The functions that Vulkan's loader and the application call. Each passes the call on to the next layer, and tells the
// layer's objects of it.
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan_core.h>

#include <array>
#include <cstring>
#include <string_view>

#include "creation.hpp"
#include "log.hpp"
#include "objects.hpp"

#define VKF_LAYER_EXPORT extern "C" __attribute__((visibility("default")))

namespace vkf::layer {
namespace {

constexpr const char* layerName = "VK_LAYER_VKFLASH_ggml";
constexpr uint32_t neededVersion = VK_API_VERSION_1_2;

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL getInstanceProcAddr(VkInstance instance, const char* name);
VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL getDeviceProcAddr(VkDevice device, const char* name);

// ---- Instance ------------------------------------------------------------------------------------------------------

// The loader's struct with the next layer, which each layer moves on before it calls that layer.
template <typename Info, VkStructureType type> Info* linkOf(const void* chain) {
    auto* info = static_cast<Info*>(const_cast<void*>(chain));
    while (info != nullptr && !(info->sType == type && info->function == VK_LAYER_LINK_INFO)) {
        info = static_cast<Info*>(const_cast<void*>(info->pNext));
    }
    return info;
}

VKAPI_ATTR VkResult VKAPI_CALL createInstance(const VkInstanceCreateInfo* info, const VkAllocationCallbacks* allocator,
                                              VkInstance* instance) {
    auto* link = linkOf<VkLayerInstanceCreateInfo, VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO>(info->pNext);
    if (link == nullptr) {
        return VK_ERROR_INITIALIZATION_FAILED;
    }
    const PFN_vkGetInstanceProcAddr nextGet = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    const auto create = reinterpret_cast<PFN_vkCreateInstance>(nextGet(VK_NULL_HANDLE, "vkCreateInstance"));
    const VkResult result = create(info, allocator, instance);
    if (result == VK_SUCCESS) {
        const uint32_t version = info->pApplicationInfo == nullptr ? 0 : info->pApplicationInfo->apiVersion;
        addInstance(std::make_unique<Instance>(nextGet, *instance, version));
    }
    return result;
}

VKAPI_ATTR void VKAPI_CALL destroyInstance(VkInstance instance, const VkAllocationCallbacks* allocator) {
    if (instance == VK_NULL_HANDLE) {
        return;
    }
    const PFN_vkDestroyInstance destroy = instanceOf(instance)->functions.DestroyInstance;
    removeInstance(instance); // by a pointer in the object, so before it goes
    destroy(instance, allocator);
}

// The layer has no extensions.
VKAPI_ATTR VkResult VKAPI_CALL enumerateDeviceExtensions(VkPhysicalDevice device, const char* layer, uint32_t* count,
                                                         VkExtensionProperties* properties) {
    if (layer != nullptr && std::strcmp(layer, layerName) == 0) {
        *count = 0;
        return VK_SUCCESS;
    }
    return instanceOf(device)->functions.EnumerateDeviceExtensionProperties(device, layer, count, properties);
}

// ---- Device --------------------------------------------------------------------------------------------------------

// What vkflash calls instead of the loader: the next layer.
VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL getDeviceForVkflash(VkDevice device, const char* name) {
    return deviceOf(device)->next().GetDeviceProcAddr(device, name);
}
VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL getForVkflash(VkInstance instance, const char* name) {
    if (std::strcmp(name, "vkGetDeviceProcAddr") == 0) {
        return reinterpret_cast<PFN_vkVoidFunction>(getDeviceForVkflash);
    }
    if (std::strcmp(name, "vkSetDebugUtilsObjectNameEXT") == 0) {
        return nullptr; // the application's tools show the application's objects
    }
    return instanceOf(instance)->functions.GetInstanceProcAddr(instance, name);
}

// A device's create info in the application's form and in the layer's, and the call to the next layer.
struct NextCreation {
    VkLayerDeviceCreateInfo* link;
    VkLayerDeviceLink* next;
    PFN_vkCreateDevice create;
    PFN_vkGetDeviceProcAddr get;

    VkResult operator()(VkPhysicalDevice physicalDevice, const VkDeviceCreateInfo* info,
                        const VkAllocationCallbacks* allocator, VkDevice* device) const {
        link->u.pLayerInfo = next->pNext; // also where an earlier call failed below
        return create(physicalDevice, info, allocator, device);
    }
};

// Returns the features that the device was created with for vkflash; 0 if it was created as the application wants it.
VkfFeatures createWithFeatures(const Instance& instance, VkPhysicalDevice physicalDevice,
                               const VkDeviceCreateInfo& info, const VkAllocationCallbacks* allocator,
                               const NextCreation& next, VkDevice* device, VkResult* result) {
    VkfDeviceQuery query = {sizeof query, getForVkflash, instance.handle, physicalDevice, 0, 0};
    VkfDeviceRequirements needed{};
    needed.structSize = sizeof needed;
    VkfMessage message{};
    VkfFeatures features = 0;
    if (mode() == Mode::off) {
        // as the application wants it
    } else if (instance.apiVersion < neededVersion) {
        reportIdle("the instance is made for a Vulkan before 1.2");
    } else if (vkfGetDeviceRequirements(&query, &needed, &message) != VKF_SUCCESS) {
        reportIdle(message.text);
    } else {
        const DeviceCreation creation(info, needed);
        features = creation.features();
        *result =
            features == 0 ? VK_ERROR_INITIALIZATION_FAILED : next(physicalDevice, &creation.info(), allocator, device);
        if (*result != VK_SUCCESS) {
            reportIdle("the device cannot be created with what vkflash needs");
            features = 0;
        }
    }
    vkfFreeDeviceRequirements(&needed);
    if (features == 0) {
        *result = next(physicalDevice, &info, allocator, device);
    }
    return features;
}

// Device and driver, for the log.
std::string nameOf(const Instance& instance, VkPhysicalDevice physicalDevice) {
    VkPhysicalDeviceDriverProperties driver{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
    VkPhysicalDeviceProperties2 device{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &driver};
    instance.functions.GetPhysicalDeviceProperties2(physicalDevice, &device);
    return std::string(device.properties.deviceName) + ", driver " + driver.driverName + " " + driver.driverInfo;
}

VKAPI_ATTR VkResult VKAPI_CALL createDevice(VkPhysicalDevice physicalDevice, const VkDeviceCreateInfo* info,
                                            const VkAllocationCallbacks* allocator, VkDevice* device) {
    const Instance& instance = *instanceOf(physicalDevice);
    auto* link = linkOf<VkLayerDeviceCreateInfo, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO>(info->pNext);
    if (link == nullptr) {
        return VK_ERROR_INITIALIZATION_FAILED;
    }
    const PFN_vkGetInstanceProcAddr nextGet = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    const NextCreation next = {link, link->u.pLayerInfo,
                               reinterpret_cast<PFN_vkCreateDevice>(nextGet(instance.handle, "vkCreateDevice")),
                               link->u.pLayerInfo->pfnNextGetDeviceProcAddr};
    VkResult result = VK_SUCCESS;
    const VkfFeatures features = createWithFeatures(instance, physicalDevice, *info, allocator, next, device, &result);
    if (result != VK_SUCCESS) {
        return result;
    }
    Device& made = addDevice(std::make_unique<Device>(*device, next.get));
    if (features != 0) {
        const std::string reason =
            made.activate({&instance.functions, getForVkflash, instance.handle, physicalDevice, features});
        if (!reason.empty()) {
            reportIdle(reason);
        } else {
            tally(); // which writes its numbers at the end even if there are none
            tell("works on " + nameOf(instance, physicalDevice));
        }
    }
    return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL destroyDevice(VkDevice device, const VkAllocationCallbacks* allocator) {
    if (device == VK_NULL_HANDLE) {
        return;
    }
    const PFN_vkDestroyDevice destroy = deviceOf(device)->next().DestroyDevice;
    removeDevice(device); // with the layer's own objects of the device
    destroy(device, allocator);
}

// ---- Buffers and memory --------------------------------------------------------------------------------------------

VKAPI_ATTR VkResult VKAPI_CALL CreateBuffer(VkDevice device, const VkBufferCreateInfo* info,
                                            const VkAllocationCallbacks* allocator, VkBuffer* buffer) {
    Device& here = *deviceOf(device);
    const BufferCreation creation(*info);
    const VkResult result = here.next().CreateBuffer(device, &creation.info(), allocator, buffer);
    if (result == VK_SUCCESS) {
        here.bufferCreated(*buffer, {info->size, creation.hasAddress()});
    }
    return result;
}

VKAPI_ATTR void VKAPI_CALL DestroyBuffer(VkDevice device, VkBuffer buffer, const VkAllocationCallbacks* allocator) {
    Device& here = *deviceOf(device);
    here.bufferDestroyed(buffer);
    here.next().DestroyBuffer(device, buffer, allocator);
}

VKAPI_ATTR void VKAPI_CALL GetDeviceBufferMemoryRequirements(VkDevice device,
                                                             const VkDeviceBufferMemoryRequirements* info,
                                                             VkMemoryRequirements2* requirements) {
    const BufferCreation creation(*info->pCreateInfo);
    VkDeviceBufferMemoryRequirements changed = *info;
    changed.pCreateInfo = &creation.info();
    deviceOf(device)->next().GetDeviceBufferMemoryRequirements(device, &changed, requirements);
}

VKAPI_ATTR VkResult VKAPI_CALL AllocateMemory(VkDevice device, const VkMemoryAllocateInfo* info,
                                              const VkAllocationCallbacks* allocator, VkDeviceMemory* memory) {
    const MemoryAllocation allocation(*info);
    return deviceOf(device)->next().AllocateMemory(device, &allocation.info(), allocator, memory);
}

// ---- Pipelines -----------------------------------------------------------------------------------------------------

VKAPI_ATTR VkResult VKAPI_CALL CreateShaderModule(VkDevice device, const VkShaderModuleCreateInfo* info,
                                                  const VkAllocationCallbacks* allocator, VkShaderModule* module) {
    Device& here = *deviceOf(device);
    const VkResult result = here.next().CreateShaderModule(device, info, allocator, module);
    if (result == VK_SUCCESS) {
        here.moduleCreated(*module, *info);
    }
    return result;
}

VKAPI_ATTR void VKAPI_CALL DestroyShaderModule(VkDevice device, VkShaderModule module,
                                               const VkAllocationCallbacks* allocator) {
    Device& here = *deviceOf(device);
    here.moduleDestroyed(module);
    here.next().DestroyShaderModule(device, module, allocator);
}

VKAPI_ATTR VkResult VKAPI_CALL CreateComputePipelines(VkDevice device, VkPipelineCache cache, uint32_t count,
                                                      const VkComputePipelineCreateInfo* infos,
                                                      const VkAllocationCallbacks* allocator, VkPipeline* pipelines) {
    Device& here = *deviceOf(device);
    const VkResult result = here.next().CreateComputePipelines(device, cache, count, infos, allocator, pipelines);
    for (uint32_t i = 0; i < count; i++) {
        if (pipelines[i] != VK_NULL_HANDLE) { // some may exist though others failed
            here.pipelineCreated(pipelines[i], infos[i]);
        }
    }
    return result;
}

VKAPI_ATTR void VKAPI_CALL DestroyPipeline(VkDevice device, VkPipeline pipeline,
                                           const VkAllocationCallbacks* allocator) {
    Device& here = *deviceOf(device);
    here.pipelineDestroyed(pipeline);
    here.next().DestroyPipeline(device, pipeline, allocator);
}

// ---- Descriptors ---------------------------------------------------------------------------------------------------

VKAPI_ATTR VkResult VKAPI_CALL CreateDescriptorSetLayout(VkDevice device, const VkDescriptorSetLayoutCreateInfo* info,
                                                         const VkAllocationCallbacks* allocator,
                                                         VkDescriptorSetLayout* layout) {
    Device& here = *deviceOf(device);
    const VkResult result = here.next().CreateDescriptorSetLayout(device, info, allocator, layout);
    if (result == VK_SUCCESS) {
        here.descriptors().layoutCreated(*layout, *info);
    }
    return result;
}

VKAPI_ATTR void VKAPI_CALL DestroyDescriptorSetLayout(VkDevice device, VkDescriptorSetLayout layout,
                                                      const VkAllocationCallbacks* allocator) {
    Device& here = *deviceOf(device);
    here.descriptors().layoutDestroyed(layout);
    here.next().DestroyDescriptorSetLayout(device, layout, allocator);
}

VKAPI_ATTR VkResult VKAPI_CALL AllocateDescriptorSets(VkDevice device, const VkDescriptorSetAllocateInfo* info,
                                                      VkDescriptorSet* sets) {
    Device& here = *deviceOf(device);
    const VkResult result = here.next().AllocateDescriptorSets(device, info, sets);
    if (result == VK_SUCCESS) {
        here.descriptors().allocated(*info, sets);
    }
    return result;
}

VKAPI_ATTR VkResult VKAPI_CALL FreeDescriptorSets(VkDevice device, VkDescriptorPool pool, uint32_t count,
                                                  const VkDescriptorSet* sets) {
    Device& here = *deviceOf(device);
    here.descriptors().freed(pool, count, sets);
    return here.next().FreeDescriptorSets(device, pool, count, sets);
}

VKAPI_ATTR VkResult VKAPI_CALL ResetDescriptorPool(VkDevice device, VkDescriptorPool pool,
                                                   VkDescriptorPoolResetFlags flags) {
    Device& here = *deviceOf(device);
    here.descriptors().emptied(pool);
    return here.next().ResetDescriptorPool(device, pool, flags);
}

VKAPI_ATTR void VKAPI_CALL DestroyDescriptorPool(VkDevice device, VkDescriptorPool pool,
                                                 const VkAllocationCallbacks* allocator) {
    Device& here = *deviceOf(device);
    here.descriptors().emptied(pool);
    here.next().DestroyDescriptorPool(device, pool, allocator);
}

VKAPI_ATTR void VKAPI_CALL UpdateDescriptorSets(VkDevice device, uint32_t writeCount,
                                                const VkWriteDescriptorSet* writes, uint32_t copyCount,
                                                const VkCopyDescriptorSet* copies) {
    Device& here = *deviceOf(device);
    here.descriptors().written(writeCount, writes);
    for (uint32_t i = 0; i < copyCount; i++) {
        here.descriptors().untracked(copies[i].dstSet);
    }
    here.next().UpdateDescriptorSets(device, writeCount, writes, copyCount, copies);
}

VKAPI_ATTR void VKAPI_CALL UpdateDescriptorSetWithTemplate(VkDevice device, VkDescriptorSet set,
                                                           VkDescriptorUpdateTemplate layout, const void* data) {
    Device& here = *deviceOf(device);
    here.descriptors().untracked(set);
    here.next().UpdateDescriptorSetWithTemplate(device, set, layout, data);
}

// ---- Command buffers -----------------------------------------------------------------------------------------------

VKAPI_ATTR VkResult VKAPI_CALL CreateCommandPool(VkDevice device, const VkCommandPoolCreateInfo* info,
                                                 const VkAllocationCallbacks* allocator, VkCommandPool* pool) {
    Device& here = *deviceOf(device);
    const VkResult result = here.next().CreateCommandPool(device, info, allocator, pool);
    if (result == VK_SUCCESS) {
        addCommandPool(here, *pool);
    }
    return result;
}

VKAPI_ATTR VkResult VKAPI_CALL ResetCommandPool(VkDevice device, VkCommandPool pool, VkCommandPoolResetFlags flags) {
    Device& here = *deviceOf(device);
    const VkResult result = here.next().ResetCommandPool(device, pool, flags);
    resetCommandPool(here, pool);
    return result;
}

VKAPI_ATTR void VKAPI_CALL DestroyCommandPool(VkDevice device, VkCommandPool pool,
                                              const VkAllocationCallbacks* allocator) {
    Device& here = *deviceOf(device);
    removeCommandPool(here, pool);
    here.next().DestroyCommandPool(device, pool, allocator);
}

VKAPI_ATTR VkResult VKAPI_CALL AllocateCommandBuffers(VkDevice device, const VkCommandBufferAllocateInfo* info,
                                                      VkCommandBuffer* handles) {
    Device& here = *deviceOf(device);
    const VkResult result = here.next().AllocateCommandBuffers(device, info, handles);
    if (result == VK_SUCCESS) {
        addCommandBuffers(here, info->commandPool, info->commandBufferCount, handles);
    }
    return result;
}

VKAPI_ATTR void VKAPI_CALL FreeCommandBuffers(VkDevice device, VkCommandPool pool, uint32_t count,
                                              const VkCommandBuffer* handles) {
    removeCommandBuffers(count, handles);
    deviceOf(device)->next().FreeCommandBuffers(device, pool, count, handles);
}

VKAPI_ATTR VkResult VKAPI_CALL BeginCommandBuffer(VkCommandBuffer handle, const VkCommandBufferBeginInfo* info) {
    CommandBuffer& commands = commandBufferOf(handle);
    commands.reset();
    return commands.next().BeginCommandBuffer(handle, info);
}

VKAPI_ATTR VkResult VKAPI_CALL ResetCommandBuffer(VkCommandBuffer handle, VkCommandBufferResetFlags flags) {
    CommandBuffer& commands = commandBufferOf(handle);
    commands.reset();
    return commands.next().ResetCommandBuffer(handle, flags);
}

VKAPI_ATTR VkResult VKAPI_CALL EndCommandBuffer(VkCommandBuffer handle) {
    CommandBuffer& commands = commandBufferOf(handle);
    commands.beforeOtherCommand();
    return commands.next().EndCommandBuffer(handle);
}

VKAPI_ATTR void VKAPI_CALL CmdBindPipeline(VkCommandBuffer handle, VkPipelineBindPoint point, VkPipeline pipeline) {
    CommandBuffer& commands = commandBufferOf(handle);
    commands.pipelineBound(point, pipeline);
    commands.next().CmdBindPipeline(handle, point, pipeline);
}

VKAPI_ATTR void VKAPI_CALL CmdBindDescriptorSets(VkCommandBuffer handle, VkPipelineBindPoint point,
                                                 VkPipelineLayout layout, uint32_t first, uint32_t count,
                                                 const VkDescriptorSet* sets, uint32_t offsetCount,
                                                 const uint32_t* offsets) {
    CommandBuffer& commands = commandBufferOf(handle);
    commands.setsBound(point, layout, first, count, sets, offsetCount);
    commands.next().CmdBindDescriptorSets(handle, point, layout, first, count, sets, offsetCount, offsets);
}

VKAPI_ATTR void VKAPI_CALL CmdPushConstants(VkCommandBuffer handle, VkPipelineLayout layout, VkShaderStageFlags stages,
                                            uint32_t offset, uint32_t bytes, const void* values) {
    CommandBuffer& commands = commandBufferOf(handle);
    commands.constantsPushed(layout, stages, offset, bytes, values);
    commands.next().CmdPushConstants(handle, layout, stages, offset, bytes, values);
}

VKAPI_ATTR void VKAPI_CALL CmdDispatch(VkCommandBuffer handle, uint32_t x, uint32_t y, uint32_t z) {
    commandBufferOf(handle).dispatch(x, y, z);
}

// NOLINTNEXTLINE(readability-function-size): the parameters are Vulkan's
VKAPI_ATTR void VKAPI_CALL CmdPipelineBarrier(VkCommandBuffer handle, VkPipelineStageFlags before,
                                              VkPipelineStageFlags after, VkDependencyFlags flags, uint32_t memoryCount,
                                              const VkMemoryBarrier* memory, uint32_t bufferCount,
                                              const VkBufferMemoryBarrier* buffers, uint32_t imageCount,
                                              const VkImageMemoryBarrier* images) {
    CommandBuffer& commands = commandBufferOf(handle);
    commands.barrierRecorded(before, after, memoryCount, memory);
    commands.next().CmdPipelineBarrier(handle, before, after, flags, memoryCount, memory, bufferCount, buffers,
                                       imageCount, images);
}

// Wrappers of commands that only need one note before they are passed on.
template <auto function, void (CommandBuffer::*note)(), typename Type> struct Noted;
template <auto function, void (CommandBuffer::*note)(), typename... Arguments>
struct Noted<function, note, void(VKAPI_PTR*)(VkCommandBuffer, Arguments...)> {
    static VKAPI_ATTR void VKAPI_CALL call(VkCommandBuffer handle, Arguments... arguments) {
        CommandBuffer& commands = commandBufferOf(handle);
        (commands.*note)();
        (commands.next().*function)(handle, arguments...);
    }
};

// ---- Names ---------------------------------------------------------------------------------------------------------

struct Entry {
    std::string_view name;
    PFN_vkVoidFunction function;
};
template <typename Function> PFN_vkVoidFunction erased(Function function) {
    return reinterpret_cast<PFN_vkVoidFunction>(function);
}

#define VKF_LAYER_ENTRY(name) Entry{"vk" #name, erased(name)},
#define VKF_LAYER_NOTED(name, note)                                                                                    \
    Entry{"vk" #name, erased(Noted<&DeviceFunctions::name, &CommandBuffer::note, PFN_vk##name>::call)},
#define VKF_LAYER_OTHER_ENTRY(name) VKF_LAYER_NOTED(name, beforeOtherCommand)
#define VKF_LAYER_SET_ENTRY(name) VKF_LAYER_NOTED(name, setUntracked)
#define VKF_LAYER_CONSTANTS_ENTRY(name) VKF_LAYER_NOTED(name, constantsUntracked)
#define VKF_LAYER_SHADERS_ENTRY(name) VKF_LAYER_NOTED(name, pipelineUntracked)
#define VKF_LAYER_SECONDARIES_ENTRY(name) VKF_LAYER_NOTED(name, secondariesExecuted)

const std::array instanceEntries = {
    Entry{"vkGetInstanceProcAddr", erased(getInstanceProcAddr)},
    Entry{"vkCreateInstance", erased(createInstance)},
    Entry{"vkDestroyInstance", erased(destroyInstance)},
    Entry{"vkCreateDevice", erased(createDevice)},
    Entry{"vkEnumerateDeviceExtensionProperties", erased(enumerateDeviceExtensions)},
};
// For every device.
const std::array deviceEntries = {
    Entry{"vkGetDeviceProcAddr", erased(getDeviceProcAddr)},
    Entry{"vkDestroyDevice", erased(destroyDevice)},
};
// For devices on which the layer works.
const std::array workingEntries = {
    VKF_LAYER_WRAPPED(VKF_LAYER_ENTRY)                        //
    VKF_LAYER_OTHER_COMMANDS(VKF_LAYER_OTHER_ENTRY)           //
    VKF_LAYER_SET_COMMANDS(VKF_LAYER_SET_ENTRY)               //
    VKF_LAYER_CONSTANT_COMMANDS(VKF_LAYER_CONSTANTS_ENTRY)    //
    VKF_LAYER_SHADER_COMMANDS(VKF_LAYER_SHADERS_ENTRY)        //
    VKF_LAYER_SECONDARY_COMMANDS(VKF_LAYER_SECONDARIES_ENTRY) //
};

template <typename Entries> PFN_vkVoidFunction find(const Entries& entries, std::string_view name) {
    for (const Entry& entry : entries) {
        if (entry.name == name) {
            return entry.function;
        }
    }
    return nullptr;
}

// Functions of extensions that became part of Vulkan do the same as those with the name that they have there.
std::string_view currentName(std::string_view name) {
    constexpr std::string_view suffix = "KHR";
    const bool old = name.size() > suffix.size() && name.substr(name.size() - suffix.size()) == suffix;
    return old ? name.substr(0, name.size() - suffix.size()) : name;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL getInstanceProcAddr(VkInstance instance, const char* name) {
    PFN_vkVoidFunction own = find(instanceEntries, name);
    if (own == nullptr) {
        own = find(deviceEntries, name);
    }
    const Instance* here = own != nullptr || instance == VK_NULL_HANDLE ? nullptr : instanceOf(instance);
    return here == nullptr ? own : here->functions.GetInstanceProcAddr(instance, name);
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL getDeviceProcAddr(VkDevice device, const char* name) {
    if (const PFN_vkVoidFunction own = find(deviceEntries, name); own != nullptr) {
        return own;
    }
    const Device* here = deviceOf(device);
    const PFN_vkVoidFunction next = here->next().GetDeviceProcAddr(device, name);
    const PFN_vkVoidFunction own =
        here->active() && next != nullptr ? find(workingEntries, currentName(name)) : nullptr;
    return own != nullptr ? own : next;
}

} // namespace
} // namespace vkf::layer

// What the manifest names: the loader's first call.
VKF_LAYER_EXPORT VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface* negotiated) {
    constexpr uint32_t version = 2;
    if (negotiated->sType != LAYER_NEGOTIATE_INTERFACE_STRUCT || negotiated->loaderLayerInterfaceVersion < version) {
        return VK_ERROR_INITIALIZATION_FAILED;
    }
    negotiated->loaderLayerInterfaceVersion = version;
    negotiated->pfnGetInstanceProcAddr = vkf::layer::getInstanceProcAddr;
    negotiated->pfnGetDeviceProcAddr = vkf::layer::getDeviceProcAddr;
    negotiated->pfnGetPhysicalDeviceProcAddr = nullptr;
    return VK_SUCCESS;
}
