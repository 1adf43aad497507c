// SPDX-License-Identifier: MIT
#include "host/validation.hpp"

#include <algorithm>
#include <cstring>

#include "host/enumerate.hpp"
#include "host/error.hpp"

namespace vkf::host {
namespace {

VKAPI_ATTR VkBool32 VKAPI_CALL receiveMessage(VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,
                                              const VkDebugUtilsMessengerCallbackDataEXT* data, void* log) {
    static_cast<ValidationLog*>(log)->add(*data);
    return VK_FALSE;
}

// Newer layers are set up through VK_EXT_layer_settings, older ones through VK_EXT_validation_features.
const char* chooseSettingsExtension(const LoaderFunctions& vk) {
    const auto layers =
        enumerate<VkLayerProperties>("vkEnumerateInstanceLayerProperties", vk.EnumerateInstanceLayerProperties);
    const bool installed = std::any_of(layers.begin(), layers.end(), [](const VkLayerProperties& layer) {
        return std::strcmp(layer.layerName, validationLayerName) == 0;
    });
    if (!installed) {
        throw Error(VKF_ERROR_UNSUPPORTED, std::string("validation was requested, but ") + validationLayerName +
                                               " is not installed (Debian: vulkan-validationlayers)");
    }
    const auto extensions = enumerate<VkExtensionProperties>(
        "vkEnumerateInstanceExtensionProperties", vk.EnumerateInstanceExtensionProperties, validationLayerName);
    return contains(extensions, VK_EXT_LAYER_SETTINGS_EXTENSION_NAME) ? VK_EXT_LAYER_SETTINGS_EXTENSION_NAME
                                                                      : VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME;
}

} // namespace

void ValidationLog::add(const VkDebugUtilsMessengerCallbackDataEXT& message) noexcept {
    ++count_;
    try {
        if (receiver_) {
            const std::string id = message.pMessageIdName != nullptr ? message.pMessageIdName : "no id";
            receiver_(id + ": " + message.pMessage);
        }
    } catch (...) {
        // Vulkan is the caller: an exception must not pass through it. The message is counted.
    }
}

ValidationRequest::ValidationRequest(const LoaderFunctions& vk, ValidationLog& log)
    : settingsExtension_(chooseSettingsExtension(vk)) {
    settingList_[0] = {validationLayerName, "validate_core", VK_LAYER_SETTING_TYPE_BOOL32_EXT, 1, &enabled_};
    settingList_[1] = {validationLayerName, "validate_sync", VK_LAYER_SETTING_TYPE_BOOL32_EXT, 1, &enabled_};
    settings_.sType = VK_STRUCTURE_TYPE_LAYER_SETTINGS_CREATE_INFO_EXT;
    settings_.settingCount = 2;
    settings_.pSettings = settingList_;
    features_.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT;
    features_.enabledValidationFeatureCount = 1;
    features_.pEnabledValidationFeatures = featureList_;

    messenger_.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT;
    messenger_.messageSeverity =
        VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
    messenger_.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
    messenger_.pfnUserCallback = receiveMessage;
    messenger_.pUserData = &log;
    const bool newer = std::strcmp(settingsExtension_, VK_EXT_LAYER_SETTINGS_EXTENSION_NAME) == 0;
    messenger_.pNext = newer ? static_cast<const void*>(&settings_) : static_cast<const void*>(&features_);
}

} // namespace vkf::host
