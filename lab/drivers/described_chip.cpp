// SPDX-License-Identifier: MIT
#include "drivers/described_chip.hpp"

#include <cstdlib>

#include <dlfcn.h>

#include <fmt/format.h>

#include "cli/error.hpp"

namespace vkf::tools {

namespace {

void check(VkResult result, const char* call) {
    if (result != VK_SUCCESS)
        fail("{} failed: VkResult {}", call, static_cast<int>(result));
}

} // namespace

const std::vector<Chip>& chips() {
    static const std::vector<Chip> all = {
        {"vega10", "GCN 5"}, {"navi21", "RDNA 2"}, {"navi31", "RDNA 3"}, {"gfx1201", "RDNA 4"}};
    return all;
}

DescribedChip::DescribedChip(const Chip& chip) {
    setenv("RADV_FORCE_FAMILY", chip.family, 1);
    try {
        createInstance();
        findPhysicalDevice();
        createDevice();
    } catch (...) {
        close();
        throw;
    }
}

DescribedChip::~DescribedChip() { close(); }

void DescribedChip::close() {
    if (device_ != VK_NULL_HANDLE)
        load<PFN_vkDestroyDevice>("vkDestroyDevice")(device_, nullptr);
    if (instance_ != VK_NULL_HANDLE)
        load<PFN_vkDestroyInstance>("vkDestroyInstance")(instance_, nullptr);
    if (library_ != nullptr)
        dlclose(library_);
}

void DescribedChip::createInstance() {
    library_ = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr)
        fail("there is no Vulkan loader (libvulkan.so.1)");
    getInstanceProcAddr_ = reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(library_, "vkGetInstanceProcAddr"));
    VkApplicationInfo application{};
    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.apiVersion = VK_API_VERSION_1_3;
    VkInstanceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    info.pApplicationInfo = &application;
    check(load<PFN_vkCreateInstance>("vkCreateInstance")(&info, nullptr, &instance_), "vkCreateInstance");
}

void DescribedChip::findPhysicalDevice() {
    uint32_t count = 1;
    const VkResult found =
        load<PFN_vkEnumeratePhysicalDevices>("vkEnumeratePhysicalDevices")(instance_, &count, &physicalDevice_);
    if ((found != VK_SUCCESS && found != VK_INCOMPLETE) || count == 0)
        fail("there is no RADV that describes chips: Mesa 26 has removed RADV_FORCE_FAMILY; Debian 13 has Mesa 25.0");
    VkPhysicalDeviceDriverProperties driver{};
    driver.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES;
    VkPhysicalDeviceProperties2 properties{};
    properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    properties.pNext = &driver;
    load<PFN_vkGetPhysicalDeviceProperties2>("vkGetPhysicalDeviceProperties2")(physicalDevice_, &properties);
    name_ = properties.properties.deviceName;
    driver_ = fmt::format("{} {}", driver.driverName, driver.driverInfo);
    if (driver.driverID != VK_DRIVER_ID_MESA_RADV)
        fail("the Vulkan loader found {}; VK_DRIVER_FILES must name RADV alone", driver_);
}

void DescribedChip::createDevice() {
    auto query = make<VkfDeviceQuery>();
    query.getInstanceProcAddr = getInstanceProcAddr_;
    query.instance = instance_;
    query.physicalDevice = physicalDevice_;
    auto requirements = make<VkfDeviceRequirements>();
    requireSuccess(vkfGetDeviceRequirements, &query, &requirements);
    features_ = requirements.usableFeatures;

    std::vector<const char*> extensions(requirements.extensions, requirements.extensions + requirements.extensionCount);
    extensions.push_back(VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME);
    VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR statistics{};
    statistics.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR;
    statistics.pNext = const_cast<void*>(requirements.features); // the driver only reads the chain
    statistics.pipelineExecutableInfo = VK_TRUE;
    const float priority = 1;
    VkDeviceQueueCreateInfo queue{};
    queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    VkDeviceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    info.pNext = &statistics;
    info.queueCreateInfoCount = 1;
    info.pQueueCreateInfos = &queue;
    info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
    info.ppEnabledExtensionNames = extensions.data();
    const VkResult result = load<PFN_vkCreateDevice>("vkCreateDevice")(physicalDevice_, &info, nullptr, &device_);
    vkfFreeDeviceRequirements(&requirements);
    check(result, "vkCreateDevice");
}

Context DescribedChip::createContext(PFN_vkGetInstanceProcAddr loadFunction) const {
    auto info = make<VkfContextCreateInfo>();
    info.getInstanceProcAddr = loadFunction;
    info.instance = instance_;
    info.physicalDevice = physicalDevice_;
    info.device = device_;
    info.features = features_;
    Context context;
    requireSuccess(vkfCreateContext, &info, context.put());
    return context;
}

} // namespace vkf::tools
