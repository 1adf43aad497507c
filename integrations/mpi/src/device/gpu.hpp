// SPDX-License-Identifier: MIT
//
// One Vulkan device of a rank: two queues for kernels, and queues for copies to and from the device.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <vkflash/host.hpp>

#include "device/memory.hpp"
#include "device/queue.hpp"
#include "device/vulkan_functions.hpp"

namespace vkf::mpi {

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
    // Its kernels run beside those of the first queue, where the device has two. A kernel fills the multiprocessors
    // that the last workgroups of another one leave empty.
    Queue& kernelsBeside() { return *kernelsBeside_; }
    Queue& toDevice() { return *toDevice_; }
    Queue& toHost() { return *toHost_; }
    const std::vector<uint32_t>& families() const { return families_; }
    uint32_t memoryType(uint32_t allowed, Place place) const;
    // Alignment of host memory that the device takes. 0 = it takes none.
    uint64_t importAlignment() const { return importAlignment_; }
    uint64_t roundedForImport(uint64_t bytes) const {
        return (bytes + importAlignment_ - 1) / importAlignment_ * importAlignment_;
    }

    // Number that the driver gives the device: equal for all processes that use it.
    uint64_t identity() const { return identity_; }
    // Tells `progress` which share of the next `submissions` submissions of kernels has passed. Empty without it.
    std::function<void()> watch(const std::function<void(double)>& progress, uint64_t submissions) const;

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
    void findIdentity();
    void createContext(const host::DeviceOptions& options);
    void destroy() noexcept;

    host::Device base_; // instance, physical device, loader, measured matrix layouts
    VkDevice device_ = VK_NULL_HANDLE;
    VkfFeatures features_ = 0;
    std::vector<uint32_t> families_;
    uint64_t importAlignment_ = 0;
    uint64_t identity_ = 0;
    std::unique_ptr<DeviceFunctions> vk_;
    VkPhysicalDeviceMemoryProperties memories_{};
    Context context_;
    std::unique_ptr<Queue> kernels_, kernelsBeside_, toDevice_, toHost_;
    bool givenUp_ = false;
    mutable uint64_t bytes_ = 0;
    mutable uint64_t peakBytes_ = 0;
};

} // namespace vkf::mpi
