// SPDX-License-Identifier: MIT
//
// The Vulkan loader of the system. It is loaded at run time, so that a program also starts without one. Each Device
// loads it, and the operating system counts the references.
#pragma once

#include <vkflash/host.hpp>

namespace vkf::host {

class Loader {
public:
    Loader(); // throws Error(VKF_ERROR_UNSUPPORTED) if there is no loader
    ~Loader();
    Loader(const Loader&) = delete;
    Loader& operator=(const Loader&) = delete;

    PFN_vkGetInstanceProcAddr getInstanceProcAddr() const noexcept { return getInstanceProcAddr_; }

private:
    void* library_;
    PFN_vkGetInstanceProcAddr getInstanceProcAddr_;
};

} // namespace vkf::host
