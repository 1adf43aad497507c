// SPDX-License-Identifier: MIT
//
// A VkInstance of the highest Vulkan version that this layer knows and the loader offers, on request with the
// validation layer.
#pragma once

#include <memory>
#include <vector>

#include "host/loader.hpp"
#include "host/validation.hpp"

namespace vkf::host {

class Instance {
public:
    // Without a `log` there is no validation. The log must outlive the instance. `entry` is as for Loader.
    Instance(ValidationLog* log, PFN_vkGetInstanceProcAddr entry);
    ~Instance();
    Instance(const Instance&) = delete;
    Instance& operator=(const Instance&) = delete;

    VkInstance handle() const noexcept { return instance_; }
    uint32_t apiVersion() const noexcept { return apiVersion_; }
    PFN_vkGetInstanceProcAddr getInstanceProcAddr() const noexcept { return loader_.getInstanceProcAddr(); }
    const InstanceFunctions& functions() const noexcept { return *functions_; }
    // In the loader's order; empty if no driver is installed.
    const std::vector<VkPhysicalDevice>& physicalDevices() const noexcept { return physicalDevices_; }

private:
    void create(const LoaderFunctions& vk, const ValidationRequest* validation);
    void createMessenger(const VkDebugUtilsMessengerCreateInfoEXT& info);
    void destroy() noexcept;
    template <typename Function> Function load(const char* name) const {
        return reinterpret_cast<Function>(getInstanceProcAddr()(instance_, name));
    }

    Loader loader_;
    uint32_t apiVersion_ = 0;
    VkInstance instance_ = VK_NULL_HANDLE; // null if no driver is installed
    std::unique_ptr<InstanceFunctions> functions_;
    VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
    std::vector<VkPhysicalDevice> physicalDevices_;
};

} // namespace vkf::host
