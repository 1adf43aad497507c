// SPDX-License-Identifier: MIT
#include "host/instance.hpp"

#include <algorithm>
#include <optional>

#include "host/enumerate.hpp"

namespace vkf::host {
namespace {

// Beyond core Vulkan 1.2, this layer uses only properties of 1.3.
constexpr uint32_t highestVersion = VK_API_VERSION_1_3;

uint32_t chooseVersion(const LoaderFunctions& vk) {
    uint32_t offered = 0;
    check(vk.EnumerateInstanceVersion(&offered), "vkEnumerateInstanceVersion");
    if (offered < VK_API_VERSION_1_2) {
        throw Error(VKF_ERROR_UNSUPPORTED, "the Vulkan loader is too old: vkflash needs Vulkan 1.2");
    }
    return std::min(offered, highestVersion);
}

} // namespace

Instance::Instance(ValidationLog* log, PFN_vkGetInstanceProcAddr entry) : loader_(entry) {
    const LoaderFunctions vk(loader_.getInstanceProcAddr());
    apiVersion_ = chooseVersion(vk);
    std::optional<ValidationRequest> validation;
    if (log != nullptr) {
        validation.emplace(vk, *log);
    }
    create(vk, validation ? &*validation : nullptr);
    if (instance_ == VK_NULL_HANDLE) {
        return;
    }
    try {
        functions_ = std::make_unique<InstanceFunctions>(loader_.getInstanceProcAddr(), instance_);
        if (validation) {
            createMessenger(validation->messenger());
        }
        physicalDevices_ =
            enumerate<VkPhysicalDevice>("vkEnumeratePhysicalDevices", functions_->EnumeratePhysicalDevices, instance_);
    } catch (...) {
        destroy();
        throw;
    }
}

Instance::~Instance() { destroy(); }

void Instance::create(const LoaderFunctions& vk, const ValidationRequest* validation) {
    std::vector<const char*> layers;
    std::vector<const char*> extensions;
    VkInstanceCreateFlags flags = 0;
    if (validation != nullptr) {
        layers.push_back(validationLayerName);
        extensions.push_back(VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
        extensions.push_back(validation->settingsExtension());
    }
    const auto offered =
        enumerate<VkExtensionProperties>("vkEnumerateInstanceExtensionProperties",
                                         vk.EnumerateInstanceExtensionProperties, static_cast<const char*>(nullptr));
    // Without this extension, the loader hides layered drivers such as MoltenVK.
    if (contains(offered, VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME)) {
        extensions.push_back(VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME);
        flags |= VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR;
    }

    VkApplicationInfo application{};
    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.pApplicationName = "vkflash host";
    application.applicationVersion = vkfVersion();
    application.pEngineName = "vkflash";
    application.engineVersion = vkfVersion();
    application.apiVersion = apiVersion_;
    VkInstanceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    info.pNext = validation != nullptr ? validation->chain() : nullptr;
    info.flags = flags;
    info.pApplicationInfo = &application;
    info.enabledLayerCount = static_cast<uint32_t>(layers.size());
    info.ppEnabledLayerNames = layers.data();
    info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
    info.ppEnabledExtensionNames = extensions.data();
    VkInstance created = VK_NULL_HANDLE; // undefined after a failure
    const VkResult result = vk.CreateInstance(&info, nullptr, &created);
    // The loader returns this if there is no driver at all. The list of devices is then empty, which is not a failure.
    if (result == VK_ERROR_INCOMPATIBLE_DRIVER) {
        return;
    }
    check(result, "vkCreateInstance");
    instance_ = created;
}

void Instance::createMessenger(const VkDebugUtilsMessengerCreateInfoEXT& info) {
    const auto create = load<PFN_vkCreateDebugUtilsMessengerEXT>("vkCreateDebugUtilsMessengerEXT");
    if (create == nullptr || load<PFN_vkDestroyDebugUtilsMessengerEXT>("vkDestroyDebugUtilsMessengerEXT") == nullptr) {
        throw Error(VKF_ERROR_VULKAN,
                    "the Vulkan loader lacks vkCreateDebugUtilsMessengerEXT or vkDestroyDebugUtilsMessengerEXT");
    }
    // The chain behind the instance's own messenger is only for vkCreateInstance.
    VkDebugUtilsMessengerCreateInfoEXT unchained = info;
    unchained.pNext = nullptr;
    VkDebugUtilsMessengerEXT created = VK_NULL_HANDLE; // undefined after a failure
    check(create(instance_, &unchained, nullptr, &created), "vkCreateDebugUtilsMessengerEXT");
    messenger_ = created;
}

void Instance::destroy() noexcept {
    if (instance_ == VK_NULL_HANDLE) {
        return;
    }
    if (messenger_ != VK_NULL_HANDLE) {
        load<PFN_vkDestroyDebugUtilsMessengerEXT>("vkDestroyDebugUtilsMessengerEXT")(instance_, messenger_, nullptr);
    }
    // Not through functions_, which is missing if the implementation lacks one of them.
    if (const auto destroyInstance = load<PFN_vkDestroyInstance>("vkDestroyInstance"); destroyInstance != nullptr) {
        destroyInstance(instance_, nullptr);
    }
}

} // namespace vkf::host
