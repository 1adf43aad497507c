// SPDX-License-Identifier: MIT
#include "fake_ggml.hpp"

#include <atomic>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace vkf::test {
namespace {

std::atomic<int> messageCount{0};

VKAPI_ATTR VkBool32 VKAPI_CALL onMessage(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                         VkDebugUtilsMessageTypeFlagsEXT types,
                                         const VkDebugUtilsMessengerCallbackDataEXT* data, void* user) {
    static_cast<void>(severity);
    static_cast<void>(user);
    if ((types & VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT) != 0) {
        messageCount++;
        std::fprintf(stderr, "validation: %s\n", data->pMessage);
    }
    return VK_FALSE;
}

void check(VkResult result, const char* doing) {
    if (result != VK_SUCCESS) {
        throw std::runtime_error(std::string(doing) + ": VkResult " + std::to_string(result));
    }
}

std::vector<uint32_t> readModule(const std::string& kernel) {
    std::ifstream file(std::string(VKF_FAKE_KERNELS) + "/fake_" + kernel + ".spv", std::ios::binary | std::ios::ate);
    if (!file) {
        throw std::runtime_error("no module of the kernel " + kernel);
    }
    std::vector<uint32_t> words(static_cast<size_t>(file.tellg()) / sizeof(uint32_t));
    file.seekg(0);
    file.read(reinterpret_cast<char*>(words.data()), static_cast<std::streamsize>(words.size() * sizeof(uint32_t)));
    return words;
}

} // namespace

uint32_t wordOf(float value) {
    uint32_t word = 0;
    std::memcpy(&word, &value, sizeof word);
    return word;
}

FakeInstance::FakeInstance(uint32_t apiVersion) {
    check(volkInitialize(), "volkInitialize");
    VkApplicationInfo application{VK_STRUCTURE_TYPE_APPLICATION_INFO};
    application.apiVersion = apiVersion;
    const char* extension = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
    VkInstanceCreateInfo info{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
    info.pApplicationInfo = &application;
    info.enabledExtensionCount = 1;
    info.ppEnabledExtensionNames = &extension;
    check(vkCreateInstance(&info, nullptr, &handle_), "vkCreateInstance");
    volkLoadInstance(handle_);
    VkDebugUtilsMessengerCreateInfoEXT messenger{VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT};
    messenger.messageSeverity =
        VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT;
    messenger.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
    messenger.pfnUserCallback = onMessage;
    check(vkCreateDebugUtilsMessengerEXT(handle_, &messenger, nullptr, &messenger_), "vkCreateDebugUtilsMessengerEXT");
    uint32_t count = 1;
    vkEnumeratePhysicalDevices(handle_, &count, &physicalDevice_);
    if (count == 0) {
        throw std::runtime_error("there is no Vulkan device");
    }
}

FakeInstance::~FakeInstance() {
    vkDestroyDebugUtilsMessengerEXT(handle_, messenger_, nullptr);
    vkDestroyInstance(handle_, nullptr);
}

int FakeInstance::messages() { return messageCount; }

FakeDevice::FakeDevice(const FakeInstance& instance, const void* features)
    : physicalDevice_(instance.physicalDevice()) {
    const float priority = 1;
    VkDeviceQueueCreateInfo queue{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    VkDeviceCreateInfo info{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, features};
    info.queueCreateInfoCount = 1;
    info.pQueueCreateInfos = &queue;
    check(vkCreateDevice(physicalDevice_, &info, nullptr, &handle_), "vkCreateDevice");
    vkGetDeviceQueue(handle_, family_, 0, &queue_);
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1024};
    VkDescriptorPoolCreateInfo pool{VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
    pool.flags = VK_DESCRIPTOR_POOL_CREATE_FREE_DESCRIPTOR_SET_BIT;
    pool.maxSets = 128;
    pool.poolSizeCount = 1;
    pool.pPoolSizes = &size;
    check(vkCreateDescriptorPool(handle_, &pool, nullptr, &descriptorPool_), "vkCreateDescriptorPool");
}

FakeDevice::~FakeDevice() {
    vkDeviceWaitIdle(handle_);
    for (VkCommandPool pool : pools_) {
        vkDestroyCommandPool(handle_, pool, nullptr);
    }
    for (const FakePipeline& pipeline : pipelines_) {
        vkDestroyPipeline(handle_, pipeline.handle, nullptr);
        vkDestroyPipelineLayout(handle_, pipeline.layout, nullptr);
    }
    for (VkShaderModule module : modules_) {
        vkDestroyShaderModule(handle_, module, nullptr);
    }
    for (const FakeBuffer& buffer : buffers_) {
        vkDestroyBuffer(handle_, buffer.handle, nullptr);
        vkFreeMemory(handle_, buffer.memory, nullptr);
    }
    vkDestroyDescriptorPool(handle_, descriptorPool_, nullptr);
    for (VkDescriptorSetLayout layout : setLayouts_) {
        vkDestroyDescriptorSetLayout(handle_, layout, nullptr);
    }
    vkDestroyDevice(handle_, nullptr);
}

FakeBuffer FakeDevice::buffer(VkDeviceSize bytes) {
    FakeBuffer made;
    made.bytes = bytes;
    VkBufferCreateInfo info{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
    info.size = bytes;
    info.usage =
        VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    check(vkCreateBuffer(handle_, &info, nullptr, &made.handle), "vkCreateBuffer");
    VkMemoryRequirements needed{};
    vkGetBufferMemoryRequirements(handle_, made.handle, &needed);
    VkPhysicalDeviceMemoryProperties types{};
    vkGetPhysicalDeviceMemoryProperties(physicalDevice_, &types);
    constexpr VkMemoryPropertyFlags flags = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    VkMemoryAllocateInfo allocation{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    allocation.allocationSize = needed.size;
    while ((needed.memoryTypeBits >> allocation.memoryTypeIndex & 1) == 0 ||
           (types.memoryTypes[allocation.memoryTypeIndex].propertyFlags & flags) != flags) {
        allocation.memoryTypeIndex++;
    }
    check(vkAllocateMemory(handle_, &allocation, nullptr, &made.memory), "vkAllocateMemory");
    check(vkBindBufferMemory(handle_, made.handle, made.memory, 0), "vkBindBufferMemory");
    check(vkMapMemory(handle_, made.memory, 0, VK_WHOLE_SIZE, 0, &made.data), "vkMapMemory");
    std::memset(made.data, 0xee, bytes);
    buffers_.push_back(made);
    return made;
}

VkDescriptorSetLayout FakeDevice::setLayout(uint32_t bindings) {
    VkDescriptorSetLayout& layout = setLayouts_.at(bindings);
    if (layout == VK_NULL_HANDLE) {
        std::vector<VkDescriptorSetLayoutBinding> all(bindings);
        for (uint32_t i = 0; i < bindings; i++) {
            all[i] = {i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
        }
        VkDescriptorSetLayoutCreateInfo info{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
        info.bindingCount = bindings;
        info.pBindings = all.data();
        check(vkCreateDescriptorSetLayout(handle_, &info, nullptr, &layout), "vkCreateDescriptorSetLayout");
    }
    return layout;
}

FakePipeline FakeDevice::pipeline(const char* kernel, uint32_t pushBytes, uint32_t bindings, const uint32_t* constants,
                                  uint32_t constantCount) {
    const std::vector<uint32_t> words = readModule(kernel);
    VkShaderModuleCreateInfo module{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
    module.codeSize = words.size() * sizeof(uint32_t);
    module.pCode = words.data();
    modules_.emplace_back();
    check(vkCreateShaderModule(handle_, &module, nullptr, &modules_.back()), "vkCreateShaderModule");

    FakePipeline made{};
    const VkDescriptorSetLayout sets = setLayout(bindings);
    const VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, pushBytes};
    VkPipelineLayoutCreateInfo layout{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
    layout.setLayoutCount = 1;
    layout.pSetLayouts = &sets;
    layout.pushConstantRangeCount = 1;
    layout.pPushConstantRanges = &range;
    check(vkCreatePipelineLayout(handle_, &layout, nullptr, &made.layout), "vkCreatePipelineLayout");

    std::vector<VkSpecializationMapEntry> entries(constantCount);
    for (uint32_t i = 0; i < constantCount; i++) {
        entries[i] = {i, i * static_cast<uint32_t>(sizeof(uint32_t)), sizeof(uint32_t)};
    }
    const VkSpecializationInfo specialization = {constantCount, entries.data(), constantCount * sizeof(uint32_t),
                                                 constants};
    VkComputePipelineCreateInfo info{VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = modules_.back();
    info.stage.pName = "main";
    info.stage.pSpecializationInfo = &specialization;
    info.layout = made.layout;
    check(vkCreateComputePipelines(handle_, VK_NULL_HANDLE, 1, &info, nullptr, &made.handle),
          "vkCreateComputePipelines");
    pipelines_.push_back(made);
    return made;
}

FakePipeline FakeDevice::attention(const FakeConstants& constants, bool older) {
    return pipeline(older ? "older" : "attention", sizeof(FakeWords), 8, constants.data(),
                    static_cast<uint32_t>(constants.size()));
}

FakePipeline FakeDevice::reduction() {
    const uint32_t workgroup = 1;
    return pipeline("reduction", 6 * sizeof(uint32_t), 3, &workgroup, 1);
}

FakePipeline FakeDevice::echo() {
    const uint32_t workgroup = 1;
    return pipeline("echo", sizeof(FakeWords), 8, &workgroup, 1);
}

VkDescriptorSet FakeDevice::set(const std::vector<VkBuffer>& buffers) {
    const VkDescriptorSetLayout layout = setLayout(static_cast<uint32_t>(buffers.size()));
    VkDescriptorSetAllocateInfo info{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
    info.descriptorPool = descriptorPool_;
    info.descriptorSetCount = 1;
    info.pSetLayouts = &layout;
    VkDescriptorSet made = VK_NULL_HANDLE;
    check(vkAllocateDescriptorSets(handle_, &info, &made), "vkAllocateDescriptorSets");
    write(made, buffers);
    return made;
}

// In one write, as ggml does: descriptors past the end of a binding go to the next one.
void FakeDevice::write(VkDescriptorSet set, const std::vector<VkBuffer>& buffers) const {
    std::vector<VkDescriptorBufferInfo> infos;
    infos.reserve(buffers.size());
    for (VkBuffer buffer : buffers) {
        infos.push_back({buffer, 0, VK_WHOLE_SIZE});
    }
    VkWriteDescriptorSet write{VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
    write.dstSet = set;
    write.descriptorCount = static_cast<uint32_t>(infos.size());
    write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    write.pBufferInfo = infos.data();
    vkUpdateDescriptorSets(handle_, 1, &write, 0, nullptr);
}

VkCommandPool FakeDevice::pool() {
    VkCommandPoolCreateInfo info{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    info.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
    info.queueFamilyIndex = family_;
    pools_.emplace_back();
    check(vkCreateCommandPool(handle_, &info, nullptr, &pools_.back()), "vkCreateCommandPool");
    return pools_.back();
}

VkCommandBuffer FakeDevice::commands(VkCommandPool pool) const {
    VkCommandBufferAllocateInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
    info.commandPool = pool;
    info.commandBufferCount = 1;
    VkCommandBuffer made = VK_NULL_HANDLE;
    check(vkAllocateCommandBuffers(handle_, &info, &made), "vkAllocateCommandBuffers");
    return made;
}

void FakeDevice::begin(VkCommandBuffer commands) {
    const VkCommandBufferBeginInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    check(vkBeginCommandBuffer(commands, &info), "vkBeginCommandBuffer");
}

void FakeDevice::submitAndWait(VkCommandBuffer commands) const {
    VkSubmitInfo info{VK_STRUCTURE_TYPE_SUBMIT_INFO};
    info.commandBufferCount = 1;
    info.pCommandBuffers = &commands;
    check(vkQueueSubmit(queue_, 1, &info, VK_NULL_HANDLE), "vkQueueSubmit");
    check(vkQueueWaitIdle(queue_), "vkQueueWaitIdle");
}

void FakeDevice::endAndRun(VkCommandBuffer commands) const {
    check(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
    submitAndWait(commands);
}

void dispatch(VkCommandBuffer commands, const FakePipeline& pipeline, VkDescriptorSet set, const void* push,
              uint32_t pushBytes, std::array<uint32_t, 3> groups) {
    vkCmdPushConstants(commands, pipeline.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, pushBytes, push);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.handle);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.layout, 0, 1, &set, 0, nullptr);
    vkCmdDispatch(commands, groups[0], groups[1], groups[2]);
}

void barrier(VkCommandBuffer commands) {
    constexpr VkPipelineStageFlags stages = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
    constexpr VkAccessFlags accesses = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
                                       VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
    VkMemoryBarrier memory{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
    memory.srcAccessMask = accesses;
    memory.dstAccessMask = accesses;
    vkCmdPipelineBarrier(commands, stages, stages, 0, 1, &memory, 0, nullptr, 0, nullptr);
}

} // namespace vkf::test
