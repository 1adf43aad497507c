// SPDX-License-Identifier: MIT
//
// A kernel that runs for some 20 microseconds on one multiprocessor and counts the cycles of its clock.
#ifndef VKFLASH_TOOLS_CLOCK_RATE_HPP
#define VKFLASH_TOOLS_CLOCK_RATE_HPP

#include "measure/compute_shader.hpp"

namespace vkf::tools {

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

} // namespace vkf::tools

#endif
