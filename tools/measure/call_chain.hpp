// SPDX-License-Identifier: MIT
//
// Runs short calls one after the other in one submission, as the layers of a model do.
#ifndef VKFLASH_TOOLS_CALL_CHAIN_HPP
#define VKFLASH_TOOLS_CALL_CHAIN_HPP

#include <cstddef>
#include <functional>

#include "measure/gpu_clock.hpp"

namespace vkf::tools {

// Calls with small caches take turns over at most this many sets of buffers. Together the sets are larger than the
// caches of any device.
inline constexpr size_t mostChainSets = 256;

class CallChain {
public:
    // `record` records one call with the buffers of one set. Device and clock must outlive the chain.
    CallChain(host::Device& device, GpuClock& clock, size_t sets, std::function<void(VkCommandBuffer, size_t)> record)
        : device_(device), clock_(clock), sets_(sets), record_(std::move(record)) {}

    // Records `calls` calls with a barrier after each. Returns the seconds of one call.
    ClockSample run(size_t calls);
    // Runs a few calls, then returns the number of calls for a submission. Its fixed cost is then small, and it stays
    // far below any watchdog's limit.
    size_t callsOfSubmission();
    size_t last() const noexcept { return next_; } // the set of the last call

private:
    host::Device& device_;
    GpuClock& clock_;
    size_t sets_;
    size_t next_ = 0;
    std::function<void(VkCommandBuffer, size_t)> record_;
};

// Records all steps of a plan. Throws host::Error.
void recordAttention(VkCommandBuffer commands, VkfPlan plan, const VkfBindings& bindings);

} // namespace vkf::tools

#endif
