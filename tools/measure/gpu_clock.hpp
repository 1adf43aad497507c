// SPDX-License-Identifier: MIT
//
// Submissions whose time comes with the clock that the GPU had.
#ifndef VKFLASH_TOOLS_GPU_CLOCK_HPP
#define VKFLASH_TOOLS_GPU_CLOCK_HPP

#include <functional>
#include <optional>

#include "measure/clock_rate.hpp"
#include "measure/clock_samples.hpp"

namespace vkf::tools {

class GpuClock {
public:
    // The device must outlive this.
    explicit GpuClock(host::Device& device);

    // As host::Device::submit, with the clock measured behind it in the same submission, where that can be done: on a
    // GPU whose shaders can read their clock. The seconds are those of what was recorded alone.
    ClockSample submit(const std::function<void(VkCommandBuffer)>& record);

    double highest() const noexcept { return highest_; } // Hz, of all submissions so far; 0 = not known

private:
    host::Device& device_;
    std::optional<ClockRate> rate_;
    double highest_ = 0;
};

} // namespace vkf::tools

#endif
