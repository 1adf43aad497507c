// SPDX-License-Identifier: MIT
#include "variations.hpp"

#include <map>
#include <memory>
#include <utility>

#include "device.hpp"

namespace vkf::test {

host::Device& deviceOf(const Variation& variation) {
    static std::map<std::pair<VkfQuirks, uint32_t>, std::unique_ptr<host::Device>> devices;
    auto& device = devices[{variation.quirks, variation.maxSharedMemoryBytes}];
    if (device == nullptr) {
        host::DeviceOptions options;
        options.quirks = variation.quirks;
        options.maxSharedMemoryBytes = variation.maxSharedMemoryBytes;
        device = std::make_unique<host::Device>(openTestDevice(options));
    }
    return *device;
}

} // namespace vkf::test
