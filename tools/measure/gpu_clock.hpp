// SPDX-License-Identifier: MIT
//
// Submits work and measures its time together with the GPU's clock.
#pragma once

#include <functional>
#include <optional>

#include "measure/compute_shader.hpp"
#include "measure/timing.hpp"

namespace vkf::tools {

// A kernel that runs for some 20 microseconds on one multiprocessor and counts the cycles of its clock.
class ClockRate {
public:
    // The device must have hasShaderClock() and must outlive this object. Throws host::Error.
    explicit ClockRate(host::Device& device);

    void record(VkCommandBuffer commands) const;
    // Clock in Hz during the last submission. `seconds` is the kernel's time between two timestamps.
    // The result is a few per cent low, because the time contains the start of the kernel. 0 if counter or timestamps
    // give nothing.
    double clock(double seconds) const;

private:
    host::Buffer result_;
    ComputeShader shader_;
};

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
