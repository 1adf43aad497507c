// SPDX-License-Identifier: MIT
//
// Submits work and measures its time together with the GPU's clock.
#ifndef VKFLASH_TOOLS_GPU_CLOCK_HPP
#define VKFLASH_TOOLS_GPU_CLOCK_HPP

#include <functional>
#include <optional>

#include "measure/clock_rate.hpp"
#include "measure/clock_samples.hpp"

namespace vkf::tools {

class GpuClock {
public:
    // The device must outlive this object.
    explicit GpuClock(host::Device& device);

    // Like host::Device::submit, but also measures the clock after the work, in the same submission. That needs a GPU
    // whose shaders can read their clock. The seconds contain only the recorded work.
    ClockSample submit(const std::function<void(VkCommandBuffer)>& record);

    double highest() const noexcept { return highest_; } // Hz, over all submissions so far; 0 = not known

private:
    host::Device& device_;
    std::optional<ClockRate> rate_;
    double highest_ = 0;
};

} // namespace vkf::tools

#endif
