// SPDX-License-Identifier: MIT
//
// Command buffers that are recorded while the device works on the ones before.
#pragma once

#include <array>
#include <cstddef>

#include <vkflash/host.hpp>

namespace vkf::ggml {

class Accelerator;

// Throws host::Error, unless the result is VK_SUCCESS.
void check(VkResult result, const char* function);

#define VKF_GGML_FUNCTIONS(X)                                                                                          \
    X(AllocateCommandBuffers)                                                                                          \
    X(BeginCommandBuffer)                                                                                              \
    X(CmdFillBuffer)                                                                                                   \
    X(CmdPipelineBarrier)                                                                                              \
    X(CreateCommandPool)                                                                                               \
    X(CreateFence)                                                                                                     \
    X(DestroyCommandPool)                                                                                              \
    X(DestroyFence)                                                                                                    \
    X(EndCommandBuffer)                                                                                                \
    X(GetDeviceQueue)                                                                                                  \
    X(QueueSubmit)                                                                                                     \
    X(ResetCommandPool)                                                                                                \
    X(ResetFences)                                                                                                     \
    X(WaitForFences)

// The Vulkan functions of the backend. Members have the names of Vulkan without `vk`.
struct CommandFunctions {
    explicit CommandFunctions(const host::Device& device);
#define VKF_GGML_DECLARE(name) PFN_vk##name name;
    VKF_GGML_FUNCTIONS(VKF_GGML_DECLARE)
#undef VKF_GGML_DECLARE
    PFN_vkGetPhysicalDeviceProperties2 GetPhysicalDeviceProperties2;
};

// A ring of command buffers. One thread uses it.
class CommandRing {
public:
    explicit CommandRing(Accelerator& accelerator);
    ~CommandRing(); // waits for the device
    CommandRing(const CommandRing&) = delete;
    CommandRing& operator=(const CommandRing&) = delete;

    // A command buffer in the recording state, whose commands see all earlier writes. Waits for the ring's oldest
    // submission if all command buffers are in use. A command buffer that was not submitted is begun again.
    VkCommandBuffer begin();
    // Submits the command buffer of begin().
    void submit();
    // Waits until the device has finished everything that was submitted.
    void wait();
    // Makes the dispatches before visible to those behind.
    void barrier(VkCommandBuffer commands) const;

private:
    struct Slot {
        VkCommandPool pool = VK_NULL_HANDLE;
        VkCommandBuffer commands = VK_NULL_HANDLE;
        VkFence fence = VK_NULL_HANDLE;
        bool pending = false;
    };
    void create(Slot& slot);
    void wait(Slot& slot);
    void destroy() noexcept;

    Accelerator& accelerator_;
    std::array<Slot, 3> slots_;
    size_t next_ = 0;
    bool lost_ = false; // the device hangs: what it may still use is not destroyed
};

} // namespace vkf::ggml
