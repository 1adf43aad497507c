// SPDX-License-Identifier: MIT
//
// The runtime's own kernels. They do everything but the attention.
#pragma once

#include <array>

#include "compute_kernel.hpp"

enum class Kernel { embed, rmsNorm, matvec, swiglu, sample };

// Must agree with shaders/arguments.glsl.
struct Arguments {
    VkDeviceAddress weight = 0;
    VkDeviceAddress source = 0;
    VkDeviceAddress target = 0;
    VkDeviceAddress tokens = 0;
    VkDeviceAddress lengths = 0;
    uint32_t width = 0;
    uint32_t outputs = 0;
    uint32_t rows = 0;
    uint32_t add = 0;
};

class Kernels {
public:
    explicit Kernels(VkDevice device);

    // Dispatches x workgroups across a row, for each of y rows. A barrier before it waits for all earlier commands.
    void record(VkCommandBuffer commandBuffer, Kernel kernel, const Arguments& arguments, uint32_t x, uint32_t y) const;

private:
    std::array<ComputeKernel, 5> kernels_; // indexed by Kernel
};
