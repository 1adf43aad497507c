// SPDX-License-Identifier: MIT
//
// One Vulkan device of a rank: a queue for kernels, queues for copies to and from the device, and memory. The queues
// have timeline semaphores, so that copies and kernels overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <memory>
#include <vector>

#include <vkflash/host.hpp>

#include "device/functions.hpp"

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

enum class Place {
    device, // fast for kernels
    host,   // mapped, coherent, cached by the CPU
};

class Gpu;

// A buffer and its memory. Move-only. The Gpu must outlive it.
class Memory {
public:
    Memory() = default;
    Memory(const Gpu& gpu, uint64_t bytes, Place place);
    // Host memory of another owner, for copies. Address and bytes are multiples of Gpu::importAlignment.
    static Memory import(const Gpu& gpu, std::byte* host, uint64_t bytes);
    Memory(Memory&& other) noexcept { swap(other); }
    Memory& operator=(Memory&& other) noexcept {
        swap(other);
        return *this;
    }
    ~Memory();

    uint64_t bytes() const { return bytes_; }
    VkBuffer handle() const { return buffer_; }
    std::byte* mapped() const { return mapped_; } // of Place::host
    VkfBinding binding(uint64_t offset, uint64_t bytes) const;
    VkDeviceAddress address(uint64_t offset = 0) const { return address_ + offset; }

private:
    void swap(Memory& other) noexcept;
    void create(uint64_t bytes, Place place);
    void createImport(std::byte* host, uint64_t bytes);

    const Gpu* gpu_ = nullptr;
    uint64_t bytes_ = 0;
    VkBuffer buffer_ = VK_NULL_HANDLE;
    VkDeviceMemory memory_ = VK_NULL_HANDLE;
    VkDeviceAddress address_ = 0;
    std::byte* mapped_ = nullptr;
};

class Gpu {
public:
    // Throws host::Error.
    explicit Gpu(const host::DeviceOptions& options);
    Gpu(const Gpu&) = delete;
    Gpu& operator=(const Gpu&) = delete;
    ~Gpu();

    const host::Device& base() const { return base_; }
    const DeviceFunctions& functions() const { return *vk_; }
    VkDevice handle() const { return device_; }
    VkfContext context() const { return context_.get(); }
    Queue& kernels() { return *kernels_; }
    Queue& toDevice() { return *toDevice_; }
    Queue& toHost() { return *toHost_; }
    const std::vector<uint32_t>& families() const { return families_; }
    uint32_t memoryType(uint32_t allowed, Place place) const;
    // Alignment of host memory that the device takes. 0 = it takes none.
    uint64_t importAlignment() const { return importAlignment_; }
    uint64_t roundedForImport(uint64_t bytes) const {
        return (bytes + importAlignment_ - 1) / importAlignment_ * importAlignment_;
    }

    // Records a barrier between all commands before and after it.
    void barrier(VkCommandBuffer commands) const;
    void copy(VkCommandBuffer commands, const Memory& from, uint64_t fromOffset, const Memory& to, uint64_t toOffset,
              uint64_t bytes) const;
    void fill(VkCommandBuffer commands, const Memory& memory, uint64_t offset, uint64_t bytes, uint32_t pattern) const;

    // Waits until the device has finished what was submitted. After some seconds, gives it up: the owner must not
    // destroy this object then, because the device may still use all of it.
    void settle() noexcept;
    bool isGivenUp() const { return givenUp_; }

    // Bytes of device memory that are in use, and the most since the device was opened.
    uint64_t peakBytes() const { return peakBytes_; }
    void resetPeakBytes() { peakBytes_ = bytes_; }
    void count(uint64_t bytes, bool allocated) const;

private:
    void createDevice();
    bool findImport();
    void createContext(const host::DeviceOptions& options);
    void destroy() noexcept;

    host::Device base_; // instance, physical device, loader, measured matrix layouts
    VkDevice device_ = VK_NULL_HANDLE;
    VkfFeatures features_ = 0;
    std::vector<uint32_t> families_;
    uint64_t importAlignment_ = 0;
    std::unique_ptr<DeviceFunctions> vk_;
    VkPhysicalDeviceMemoryProperties memories_{};
    Context context_;
    std::unique_ptr<Queue> kernels_, toDevice_, toHost_;
    bool givenUp_ = false;
    mutable uint64_t bytes_ = 0;
    mutable uint64_t peakBytes_ = 0;
};

} // namespace vkf::mpi
