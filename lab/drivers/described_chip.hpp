// SPDX-License-Identifier: MIT
//
// A device of AMD's Mesa driver RADV for a chip that the machine does not have. RADV then compiles as for the chip. The
// device has no memory types and runs nothing.
#pragma once

#include <string>
#include <vector>

#include "vkflash/vkflash.hpp"

namespace vkf::tools {

// A chip as RADV_FORCE_FAMILY spells it.
struct Chip {
    const char* family;
    const char* generation; // as AMD calls it
};

// One chip of each generation that RADV 25.0 can describe.
const std::vector<Chip>& chips();

// Opens a device of the driver that the Vulkan loader finds. Sets RADV_FORCE_FAMILY in this process. Throws
// ProgramError if there is no loader, no RADV, or another version that does not know the variable.
class DescribedChip {
public:
    explicit DescribedChip(const Chip& chip);
    DescribedChip(const DescribedChip&) = delete;
    DescribedChip& operator=(const DescribedChip&) = delete;
    ~DescribedChip();

    const std::string& name() const { return name_; }     // as the driver writes it
    const std::string& driver() const { return driver_; } // with its version
    PFN_vkGetInstanceProcAddr getInstanceProcAddr() const { return getInstanceProcAddr_; }

    template <typename Function> Function load(const char* name) const {
        return reinterpret_cast<Function>(getInstanceProcAddr_(instance_, name));
    }

    // Makes a context whose Vulkan functions come from `loadFunction`, which may replace some of the device's.
    Context createContext(PFN_vkGetInstanceProcAddr loadFunction) const;

private:
    void close();
    void createInstance();
    void findPhysicalDevice();
    void createDevice();

    void* library_ = nullptr;
    PFN_vkGetInstanceProcAddr getInstanceProcAddr_ = nullptr;
    VkInstance instance_ = VK_NULL_HANDLE;
    VkPhysicalDevice physicalDevice_ = VK_NULL_HANDLE;
    VkDevice device_ = VK_NULL_HANDLE;
    VkfFeatures features_ = 0;
    std::string name_;
    std::string driver_;
};

} // namespace vkf::tools
