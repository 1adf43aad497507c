// SPDX-License-Identifier: MIT
//
// Measures one shape of `vkflash bench decode`. A submission holds many calls one after the other, as the layers of a
// model make them. Submissions of a kernel that only reads the same caches run in turn with them.
#ifndef VKFLASH_TOOLS_DECODE_MEASURE_HPP
#define VKFLASH_TOOLS_DECODE_MEASURE_HPP

#include <functional>

#include "measure/gpu_clock.hpp"
#include "measure/problem_memory.hpp"
#include "measure/timing.hpp"
#include "vkflash/reference.h"

namespace vkf::tools {

struct DecodeMeasureOptions {
    size_t maxRuns = 200; // submissions of the calls, and of the plain reads
    // Wall time after which no further submission starts. TimingOptions::seconds describes the exception.
    double seconds = 0.2;
    // KV heads, counted over all sequences, whose results are checked. 0 = all.
    uint32_t sampleHeads = 4;
    bool valuesInKeys = false; // v is a view of k
};

struct DecodeResult {
    VkfProblem problem{};
    VkfPlanInfo plan{};
    Timing call;      // one call with its barrier
    Timing read;      // one plain read of k and v with its barrier
    size_t calls = 0; // calls in one submission
    size_t sets = 0;  // sets of buffers over which calls take turns
    double cacheBytes = 0;
    VkfVerdict verdict{}; // the worst of the checked heads

    double bytesPerSecond() const { return cacheBytes / call.median; }
    double readShare() const { return read.median / call.median; }
};

// The kernel that only reads memory.
class PlainRead {
public:
    explicit PlainRead(const host::Device& device);
    struct Range {
        VkDeviceAddress address;
        uint64_t bytes;
    };
    // Reads both ranges. Neither may be empty.
    void record(VkCommandBuffer commands, const Range& first, const Range& second) const;

private:
    ComputeShader shader_;
};

// Calls afterRun after each submission. Throws what planning and running throw.
// The caller judges the verdict.
DecodeResult measureDecode(host::Device& device, GpuClock& clock, BenchMemory& memory, const PlainRead& plainRead,
                           const VkfProblem& problem, const DecodeMeasureOptions& options,
                           const std::function<void()>& afterRun);

} // namespace vkf::tools

#endif
