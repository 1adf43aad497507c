// SPDX-License-Identifier: MIT
#include "measure/call_chain.hpp"

#include <algorithm>

#include "measure/compute_shader.hpp"

namespace vkf::tools {

namespace {

constexpr double submissionSeconds = 0.004;
constexpr size_t mostCalls = 256;

} // namespace

ClockSample CallChain::run(size_t calls) {
    ClockSample sample = clock_.submit([&](VkCommandBuffer commands) {
        for (size_t i = 0; i < calls; ++i) {
            next_ = (next_ + 1) % sets_;
            record_(commands, next_);
            recordComputeBarrier(device_, commands);
        }
    });
    sample.value /= static_cast<double>(calls);
    return sample;
}

size_t CallChain::callsOfSubmission() {
    run(1);
    const double estimate = std::max(run(4).value, 1e-9);
    return static_cast<size_t>(std::clamp(submissionSeconds / estimate, 1.0, double{mostCalls}));
}

void recordAttention(VkCommandBuffer commands, VkfPlan plan, const VkfBindings& bindings) {
    VkfMessage message{};
    if (const VkfResult code = vkfCmdAttention(commands, plan, &bindings, &message); code != VKF_SUCCESS)
        throw host::Error(code, message.text);
}

} // namespace vkf::tools
