// SPDX-License-Identifier: MIT
//
// The Khronos validation layer: how an instance requests it, and where its messages go.
#pragma once

#include <vkflash/host.hpp>

#include <atomic>
#include <functional>
#include <string>

#include "host/vulkan_functions.hpp"

namespace vkf::host {

inline constexpr const char* validationLayerName = "VK_LAYER_KHRONOS_validation";

// Counts messages and passes them on. Vulkan holds its address, so that it can neither be copied nor moved.
class ValidationLog {
public:
    explicit ValidationLog(std::function<void(const std::string&)> receiver) : receiver_(std::move(receiver)) {}
    ~ValidationLog() = default;
    ValidationLog(const ValidationLog&) = delete;
    ValidationLog& operator=(const ValidationLog&) = delete;

    uint64_t count() const noexcept { return count_.load(); }
    void add(const VkDebugUtilsMessengerCallbackDataEXT& message) noexcept; // from any thread

private:
    std::atomic<uint64_t> count_{0};
    std::function<void(const std::string&)> receiver_;
};

// The structs that VkInstanceCreateInfo needs for validation. They point to each other, so that the object can neither
// be copied nor moved.
class ValidationRequest {
public:
    // Throws Error(VKF_ERROR_UNSUPPORTED) if the layer is not installed.
    ValidationRequest(const LoaderFunctions& vk, ValidationLog& log);
    ~ValidationRequest() = default;
    ValidationRequest(const ValidationRequest&) = delete;
    ValidationRequest& operator=(const ValidationRequest&) = delete;

    const void* chain() const noexcept { return &messenger_; }
    const VkDebugUtilsMessengerCreateInfoEXT& messenger() const noexcept { return messenger_; }
    const char* settingsExtension() const noexcept { return settingsExtension_; }

private:
    VkDebugUtilsMessengerCreateInfoEXT messenger_{};
    const char* settingsExtension_;
    VkBool32 enabled_ = VK_TRUE;
    VkLayerSettingEXT settingList_[2]{};
    VkLayerSettingsCreateInfoEXT settings_{};
    VkValidationFeatureEnableEXT featureList_[1] = {VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT};
    VkValidationFeaturesEXT features_{};
};

} // namespace vkf::host
