// SPDX-License-Identifier: MIT
#include "kernels.hpp"

#include "embed.spv.h"
#include "matvec.spv.h"
#include "rms_norm.spv.h"
#include "sample.spv.h"
#include "swiglu.spv.h"

namespace {

ComputeKernel kernelOf(VkDevice device, std::span<const uint32_t> spirv) {
    return ComputeKernel(device, spirv, sizeof(Arguments));
}

} // namespace

Kernels::Kernels(VkDevice device)
    : kernels_{kernelOf(device, embed_spirv), kernelOf(device, rms_norm_spirv), kernelOf(device, matvec_spirv),
               kernelOf(device, swiglu_spirv), kernelOf(device, sample_spirv)} {}

void Kernels::record(VkCommandBuffer commandBuffer, Kernel kernel, const Arguments& arguments, uint32_t x,
                     uint32_t y) const {
    kernels_[static_cast<size_t>(kernel)].record(commandBuffer, &arguments, x, y);
}
