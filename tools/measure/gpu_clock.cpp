// SPDX-License-Identifier: MIT
#include "measure/gpu_clock.hpp"
#include "measure/clock_rate_params.h"

#include <algorithm>

namespace vkf::tools {

namespace {

// If a counter has fewer than 32 bits and wraps around, the result looks faster than any device.
constexpr double impossibleClock = 1e10;

// A CPU device also has a counter, but it says nothing about the speed of other threads.
bool isGpu(host::DeviceKind kind) {
    return kind == host::DeviceKind::discrete || kind == host::DeviceKind::integrated ||
           kind == host::DeviceKind::virtualGpu;
}

} // namespace

ClockRate::ClockRate(host::Device& device)
    : result_(device.createBuffer(sizeof(shared::ClockRateResult), host::Memory::staging)),
      shader_(device, toolShader("clock_rate"), sizeof(shared::ClockRateParams)) {}

void ClockRate::record(VkCommandBuffer commands) const {
    const shared::ClockRateParams params{result_.address()};
    shader_.record(commands, &params, 1);
}

double ClockRate::clock(double seconds) const {
    const double cycles = static_cast<const shared::ClockRateResult*>(result_.mapped())->cycles;
    return seconds > 0 && cycles < impossibleClock * seconds ? cycles / seconds : 0;
}

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
