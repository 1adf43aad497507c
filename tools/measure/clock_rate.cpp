// SPDX-License-Identifier: MIT
#include "measure/clock_rate.hpp"

#include <string_view>

#include "measure/clock_rate_params.h"

namespace vkf::tools {

namespace {

// If a counter has fewer than 32 bits and wraps around, the result looks faster than any device.
constexpr double impossibleClock = 1e10;

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

} // namespace vkf::tools
