// SPDX-License-Identifier: MIT
//
// One shape of `vkflash bench decode`: many calls one after the other in a submission, as the layers of a model make
// them, in turn with a kernel that only reads the same caches.
#ifndef VKFLASH_TOOLS_DECODE_MEASURE_HPP
#define VKFLASH_TOOLS_DECODE_MEASURE_HPP

#include <functional>

#include "measure/gpu_clock.hpp"
#include "measure/problem_memory.hpp"
#include "measure/timing.hpp"
#include "vkflash/reference.h"

namespace vkf::tools {

struct DecodeMeasureOptions {
    size_t maxRuns = 200;      // submissions of each of the two
    double seconds = 0.2;      // of wall time, after which no further one starts, but as TimingOptions says
    uint32_t sampleHeads = 4;  // KV heads of all sequences whose results are checked; 0 = all
    bool valuesInKeys = false; // v is a view of k
};

struct DecodeResult {
    VkfProblem problem{};
    VkfPlanInfo plan{};
    Timing call;      // of one call, its barrier included
    Timing read;      // of one plain read of K and V, its barrier included
    size_t calls = 0; // in a submission
    size_t sets = 0;  // of buffers that calls take turns with
    double cacheBytes = 0;
    VkfVerdict verdict{}; // the worst of the heads that were checked

    double bytesPerSecond() const { return cacheBytes / call.median; }
    double readShare() const { return read.median / call.median; }
};

// The kernel that only reads.
class PlainRead {
public:
    explicit PlainRead(const host::Device& device);
    struct Range {
        VkDeviceAddress address;
        uint64_t bytes;
    };
    // Reads both, neither of which may be empty.
    void record(VkCommandBuffer commands, const Range& first, const Range& second) const;

private:
    ComputeShader shader_;
};

// afterRun is called after each submission. Throws what planning and running throw; the verdict is the caller's to
// judge.
DecodeResult measureDecode(host::Device& device, GpuClock& clock, BenchMemory& memory, const PlainRead& plainRead,
                           const VkfProblem& problem, const DecodeMeasureOptions& options,
                           const std::function<void()>& afterRun);

} // namespace vkf::tools

#endif
