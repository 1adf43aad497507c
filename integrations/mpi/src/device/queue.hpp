// SPDX-License-Identifier: MIT
//
// A queue with a timeline of its own, so that copies and kernels overlap.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <utility>

#include <vkflash/host.hpp>

#include "device/vulkan_functions.hpp"

namespace vkf::mpi {

class Queue;

// The end of a submission. Without a queue it has always passed.
struct Moment {
    const Queue* queue = nullptr;
    uint64_t value = 0;
};

using Record = std::function<void(VkCommandBuffer)>;

// Throws host::Error if the call failed.
void check(VkResult result, const char* call);
void check(VkfResult result, const VkfMessage& message);

// A queue with a timeline of its own. Two Queues may share a VkQueue.
class Queue {
public:
    Queue(const DeviceFunctions& functions, VkDevice device, uint32_t family, VkQueue queue);
    Queue(const Queue&) = delete;
    Queue& operator=(const Queue&) = delete;
    ~Queue();

    // Submits commands that begin when all moments of `after` have passed. Earlier writes are visible to them, and what
    // they write is visible to later submissions and to the host.
    Moment submit(const Record& record, std::initializer_list<Moment> after = {});
    // Whether the moment has passed. Waits for it no longer than the given time.
    bool wait(uint64_t value, uint64_t nanoseconds) const;
    // How many submissions have passed.
    uint64_t passed() const;
    // The end of the last submission.
    Moment last() const { return {this, submitted_}; }

private:
    VkCommandBuffer freeCommands();
    void destroy() noexcept;

    const DeviceFunctions& vk_;
    VkDevice device_;
    VkQueue queue_;
    VkCommandPool pool_ = VK_NULL_HANDLE;
    VkSemaphore timeline_ = VK_NULL_HANDLE;
    uint64_t submitted_ = 0;
    std::deque<std::pair<uint64_t, VkCommandBuffer>> used_; // with the moment from which on they are free
};

} // namespace vkf::mpi
