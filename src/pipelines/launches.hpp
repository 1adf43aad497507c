// SPDX-License-Identifier: MIT
//
// Kernels of PTX, which a command buffer launches (VK_NVX_binary_import). The driver compiles a text at its first use.
// It may refuse one, because of the chip or its version. All launches of the context are closed then, and plans take
// other paths.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "device/vulkan_functions.hpp"
#include "pipelines/compiled_once.hpp"
#include "pipelines/ptx_table.hpp"
#include "pipelines/variant.hpp"
#include "shared/wgmma_params.h"

namespace vkf {

// A kernel with what each launch of it needs besides the push constants.
struct Launch {
    VkCuFunctionNVX function = VK_NULL_HANDLE;
    uint32_t threads = 0;     // of a workgroup
    uint32_t sharedBytes = 0; // of a workgroup
    shared::WgmmaConstants constants{};
    bool tensorMaps = false; // whether it takes WgmmaMaps besides
};

// The specialization constants of a variant in the order of the struct.
shared::WgmmaConstants wgmmaConstants(const Constants& constants);

// Why the texts are not in this build, or null.
const char* whyNoTexts(const PtxTexts& texts);

// A text. Empty if the packed texts are damaged.
std::string textOf(const PtxTexts& texts, const PtxText& text);

class Launches {
public:
    Launches(const DeviceFunctions& functions, VkDevice device, const VkAllocationCallbacks* allocator,
             const PtxTexts& texts);
    ~Launches();
    Launches(const Launches&) = delete;
    Launches& operator=(const Launches&) = delete;

    // Returns the launch of a variant. The driver compiles the text if it is new. Thread-safe, as CompiledOnce::get.
    // Returns VKF_ERROR_UNSUPPORTED if launches are closed and the text is new. If the driver refuses the text, the
    // call closes them. Launches that were made before go on to work. Other errors (out of memory, device lost) leave
    // them open.
    VkfResult get(const Variant& variant, Launch* launch, VkfMessage* message);

    // Why launches are closed, or null. Once they are closed, they stay closed, and the text stays where it is.
    const char* whyClosed() const { return closed_; }

private:
    struct Loaded {
        VkCuModuleNVX module = VK_NULL_HANDLE;
        VkCuFunctionNVX function = VK_NULL_HANDLE;
    };

    VkfResult compile(const std::string& name, Loaded* kernel, VkfMessage* message);
    VkfResult createFunction(const char* name, Loaded* kernel, VkfMessage* message);
    // The result of a failed call of Vulkan, which closes launches unless another call may succeed.
    VkfResult refused(VkResult result, const char* call, const char* name, VkfMessage* message);
    VkfResult close(const std::string& reason, VkfMessage* message);

    const DeviceFunctions& functions_;
    VkDevice device_;
    const VkAllocationCallbacks* allocator_;
    PtxTexts texts_;
    CompiledOnce<std::string, Loaded> kernels_; // by name
    std::mutex mutex_;                          // guards reason_
    std::string reason_;                        // written once, before closed_
    std::atomic<const char*> closed_ = nullptr;
};

} // namespace vkf
