// SPDX-License-Identifier: MIT
//
// A driver with VK_NVX_binary_import that compiles nothing, refuses on demand and writes launches down.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "device/vulkan_functions.hpp"
#include "pipelines/ptx_table.hpp"
#include "shared/attention_params.h"
#include "shared/wgmma_params.h"

namespace vkf::test {

struct FakeLaunch {
    std::string entry; // of the function
    std::array<uint32_t, 3> grid;
    std::array<uint32_t, 3> block;
    uint32_t sharedBytes;
    shared::CallParams params;
    shared::WgmmaConstants constants;
    std::optional<shared::WgmmaMaps> maps;
};

// One object at a time. Its functions work while it lives.
class FakeLaunches {
public:
    FakeLaunches();
    ~FakeLaunches();
    FakeLaunches(const FakeLaunches&) = delete;
    FakeLaunches& operator=(const FakeLaunches&) = delete;

    // Sets the functions of the extension.
    static void addTo(DeviceFunctions* functions);
    // A text for every kernel of path wgmma. Each text is its own name.
    static PtxTexts texts();

    VkResult moduleResult = VK_SUCCESS;   // of vkCreateCuModuleNVX
    VkResult functionResult = VK_SUCCESS; // of vkCreateCuFunctionNVX
    std::vector<std::string> modules{};   // texts of all modules that were asked for
    uint32_t livingModules = 0;
    uint32_t livingFunctions = 0;
    std::vector<FakeLaunch> launches{};

    std::mutex mutex{}; // guards all but the results
};

} // namespace vkf::test
