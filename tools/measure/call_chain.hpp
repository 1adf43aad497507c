// SPDX-License-Identifier: MIT
//
// Short calls one after the other in a submission, as the layers of a model make them.
#ifndef VKFLASH_TOOLS_CALL_CHAIN_HPP
#define VKFLASH_TOOLS_CALL_CHAIN_HPP

#include <cstddef>
#include <functional>

#include "measure/gpu_clock.hpp"

namespace vkf::tools {

// Small caches take turns over so many sets that together they pass any device's caches.
inline constexpr size_t mostChainSets = 256;

class CallChain {
public:
    // `record` records one call with the buffers of a set; device and clock must outlive the chain.
    CallChain(host::Device& device, GpuClock& clock, size_t sets, std::function<void(VkCommandBuffer, size_t)> record)
        : device_(device), clock_(clock), sets_(sets), record_(std::move(record)) {}

    // Records `calls` calls with a barrier after each and returns the seconds of one.
    ClockSample run(size_t calls);
    // Runs a few and says how many make a submission whose own beginning and end are lost in it, far from any watchdog.
    size_t callsOfSubmission();
    size_t last() const noexcept { return next_; } // set that was used last

private:
    host::Device& device_;
    GpuClock& clock_;
    size_t sets_;
    size_t next_ = 0;
    std::function<void(VkCommandBuffer, size_t)> record_;
};

// All steps of a plan. Throws host::Error.
void recordAttention(VkCommandBuffer commands, VkfPlan plan, const VkfBindings& bindings);

} // namespace vkf::tools

#endif
