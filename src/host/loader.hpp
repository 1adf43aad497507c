// SPDX-License-Identifier: MIT
//
// The Vulkan loader of the system, or the one that the program provides. The system's is loaded at run time, so that a
// program also starts without one. Each Device loads it, and the operating system counts the references.
#pragma once

#include <vkflash/host.hpp>

namespace vkf::host {

class Loader {
public:
    // `entry` is the vkGetInstanceProcAddr of the program's own loader. Null = loads the system's. Throws
    // Error(VKF_ERROR_UNSUPPORTED) if there is none.
    explicit Loader(PFN_vkGetInstanceProcAddr entry);
    ~Loader();
    Loader(const Loader&) = delete;
    Loader& operator=(const Loader&) = delete;

    PFN_vkGetInstanceProcAddr getInstanceProcAddr() const noexcept { return getInstanceProcAddr_; }

private:
    void* library_; // null with the program's own loader
    PFN_vkGetInstanceProcAddr getInstanceProcAddr_;
};

} // namespace vkf::host
