// SPDX-License-Identifier: MIT
//
// The pipeline of element_layout.comp for one shape of matrices, and its memory.
#pragma once

#include <cstdint>
#include <vector>

#include "host/device_state.hpp"

namespace vkf::host {

// A shape of cooperative matrices that a subgroup multiplies, with sums in fp32.
struct MatrixShape {
    VkfType type; // VKF_TYPE_F16 or VKF_TYPE_BF16
    uint32_t rows;
    uint32_t columns;
    uint32_t depth;
    uint32_t lanes; // of a subgroup
};

class LayoutKernel {
public:
    // Compiles the shader. Throws Error; VKF_ERROR_UNSUPPORTED if this build lacks it.
    LayoutKernel(DeviceState& state, const MatrixShape& shape);
    ~LayoutKernel();
    LayoutKernel(const LayoutKernel&) = delete;
    LayoutKernel& operator=(const LayoutKernel&) = delete;

    // Sections of element_layout_params.h. A section is a number of elements, followed by a word for each element.
    void write(uint32_t section, uint32_t elements, const std::vector<uint32_t>& words);
    uint32_t elementsOf(uint32_t section) const;
    const uint32_t* wordsOf(uint32_t section) const;

    // Measures or tests all three matrices, or tests all kinds of loads: VKF_ELEMENT_MEASURE and so on. Blocks.
    void run(uint32_t task);

private:
    void create(const MatrixShape& shape);
    void createPipeline(VkShaderModule module, const MatrixShape& shape);
    void destroy() noexcept;
    uint32_t* memory() const;

    DeviceState& state_;
    VkPipelineLayout layout_ = VK_NULL_HANDLE;
    VkPipeline pipeline_ = VK_NULL_HANDLE;
};

} // namespace vkf::host
