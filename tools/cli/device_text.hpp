// SPDX-License-Identifier: MIT
//
// Texts for properties of devices.
#pragma once

#include <string>
#include <vector>

#include "vkflash/host.hpp"

namespace vkf::tools {

const char* kindText(host::DeviceKind kind);
std::string apiVersionText(uint32_t version); // "1.4.318"
std::vector<std::string> featureNames(VkfFeatures features);

} // namespace vkf::tools
