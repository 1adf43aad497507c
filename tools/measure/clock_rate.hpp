// SPDX-License-Identifier: MIT
//
// A kernel that takes some 20 microseconds on one multiprocessor and tells how many cycles of its clock they were.
#ifndef VKFLASH_TOOLS_CLOCK_RATE_HPP
#define VKFLASH_TOOLS_CLOCK_RATE_HPP

#include "measure/compute_shader.hpp"

namespace vkf::tools {

class ClockRate {
public:
    // Of a device that hasShaderClock(), which must outlive this. Throws host::Error.
    explicit ClockRate(host::Device& device);

    void record(VkCommandBuffer commands) const;
    // Hz, of the submission before, in which the kernel took so many seconds between two timestamps. A few per cent
    // low: the start of the kernel is in the time. 0 where counter or timestamps tell nothing.
    double clock(double seconds) const;

private:
    host::Buffer result_;
    ComputeShader shader_;
};

} // namespace vkf::tools

#endif
