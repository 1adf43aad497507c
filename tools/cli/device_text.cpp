// SPDX-License-Identifier: MIT
#include "cli/device_text.hpp"

#include <array>

#include <fmt/format.h>

namespace vkf::tools {

namespace {

struct FeatureName {
    VkfFeatureBits bit;
    const char* name;
};

constexpr std::array<FeatureName, 4> featureTable = {{{VKF_FEATURE_BUFFER_DEVICE_ADDRESS, "buffer addresses"},
                                                      {VKF_FEATURE_STORAGE_16BIT, "16-bit storage"},
                                                      {VKF_FEATURE_FULL_SUBGROUPS, "full subgroups"},
                                                      {VKF_FEATURE_BINARY_IMPORT, "binary import"}}};

} // namespace

const char* kindText(host::DeviceKind kind) {
    constexpr std::array texts = {"discrete GPU", "integrated GPU", "virtual GPU", "CPU", "other device"};
    return texts.at(static_cast<size_t>(kind)); // in the order of DeviceKind
}

std::string apiVersionText(uint32_t version) {
    return fmt::format("{}.{}.{}", VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version),
                       VK_API_VERSION_PATCH(version));
}

std::vector<std::string> featureNames(VkfFeatures features) {
    std::vector<std::string> names;
    for (const FeatureName& feature : featureTable)
        if ((features & static_cast<VkfFeatures>(feature.bit)) != 0)
            names.emplace_back(feature.name);
    return names;
}

} // namespace vkf::tools
