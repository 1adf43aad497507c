// SPDX-License-Identifier: MIT
#include "measure/gpu_clock.hpp"

#include <algorithm>

namespace vkf::tools {

namespace {

// A CPU device also has a counter, but it says nothing about the speed of other threads.
bool isGpu(host::DeviceKind kind) {
    return kind == host::DeviceKind::discrete || kind == host::DeviceKind::integrated ||
           kind == host::DeviceKind::virtualGpu;
}

} // namespace

GpuClock::GpuClock(host::Device& device) : device_(device) {
    if (device.hasShaderClock() && isGpu(device.summary().kind))
        rate_.emplace(device);
}

ClockSample GpuClock::submit(const std::function<void(VkCommandBuffer)>& record) {
    if (!rate_)
        return {device_.submit(record)};
    const auto seconds = device_.submit(record, [&](VkCommandBuffer commands) { rate_->record(commands); });
    const ClockSample sample{seconds[0], rate_->clock(seconds[1])};
    highest_ = std::max(highest_, sample.clock);
    return sample;
}

} // namespace vkf::tools
