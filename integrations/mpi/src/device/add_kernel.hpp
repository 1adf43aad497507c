// SPDX-License-Identifier: MIT
//
// A kernel of this library: adds an array of fp32 numbers to another one on the device.
#pragma once

#include "device/gpu.hpp"

namespace vkf::mpi {

class AddKernel {
public:
    explicit AddKernel(const Gpu& gpu);
    AddKernel(const AddKernel&) = delete;
    AddKernel& operator=(const AddKernel&) = delete;
    ~AddKernel();

    // Records sum[i] += addend[i] for i < count, after a barrier.
    void record(VkCommandBuffer commands, VkDeviceAddress sum, VkDeviceAddress addend, uint64_t count) const;

private:
    void create();
    void destroy() noexcept;

    const Gpu& gpu_;
    VkPipelineLayout layout_ = VK_NULL_HANDLE;
    VkPipeline pipeline_ = VK_NULL_HANDLE;
};

} // namespace vkf::mpi
