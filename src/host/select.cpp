// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cctype>
#include <charconv>

#include "host/summary.hpp"

namespace vkf::host {
namespace {

std::string lowerCase(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
    return text;
}

// Returns the devices, separated by commas, as "0 = llvmpipe (LLVM 21.1.8, 256 bits)".
std::string deviceList(const std::vector<DeviceSummary>& devices) {
    std::string list;
    for (const DeviceSummary& device : devices) {
        list += (list.empty() ? "" : ", ") + std::to_string(device.index) + " = " + device.name;
    }
    return list;
}

bool isNumber(const std::string& text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// DeviceKind lists the kinds from best to worst.
bool isBetter(const DeviceSummary& a, const DeviceSummary& b) {
    const bool aUsable = a.usable == VKF_SUCCESS;
    const bool bUsable = b.usable == VKF_SUCCESS;
    return aUsable != bUsable ? aUsable : a.kind < b.kind;
}

uint32_t selectIndex(const std::vector<DeviceSummary>& devices, const std::string& number) {
    uint32_t index = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), index);
    if (error != std::errc() || index >= devices.size()) {
        throw Error(VKF_ERROR_INVALID_ARGUMENT,
                    "there is no Vulkan device number " + number + "; there are: " + deviceList(devices));
    }
    return index;
}

uint32_t selectName(const std::vector<DeviceSummary>& devices, const std::string& part) {
    for (const DeviceSummary& device : devices) {
        if (lowerCase(device.name).find(lowerCase(part)) != std::string::npos) {
            return device.index;
        }
    }
    throw Error(VKF_ERROR_INVALID_ARGUMENT,
                "no Vulkan device has \"" + part + "\" in its name; there are: " + deviceList(devices));
}

} // namespace

uint32_t selectDevice(const std::vector<DeviceSummary>& devices, const std::string& select) {
    if (devices.empty()) {
        throw Error(VKF_ERROR_UNSUPPORTED, "there is no Vulkan device on this system: install a graphics driver with "
                                           "Vulkan, or a software one (Debian: mesa-vulkan-drivers)");
    }
    if (select.empty()) {
        return std::min_element(devices.begin(), devices.end(), isBetter)->index;
    }
    return isNumber(select) ? selectIndex(devices, select) : selectName(devices, select);
}

} // namespace vkf::host
