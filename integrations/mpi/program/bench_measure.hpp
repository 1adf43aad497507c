// SPDX-License-Identifier: MIT
//
// Times a call over all ranks, and on one GPU without this library.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "bench_calls.hpp"
#include "measure/timing.hpp"
#include "session.hpp"

namespace vkf::mpi::program {

struct BenchLimits {
    uint32_t runs = 20;  // of each pass, after those that warm up
    double seconds = 10; // after which no further run of a pass starts
};

// What the ranks did in one pass. Numbers are the largest of all ranks.
struct Measured {
    tools::Timing timing;
    double waited = 0; // in the last run
    uint64_t sentBytes = 0;
    uint64_t partBytes = 0; // of the tensors of the rank with the most memory over its tensors
    uint64_t peakBytes = 0; // device memory of that rank
    std::string plan;
    std::string method;

    double memory() const { return static_cast<double>(peakBytes) / static_cast<double>(partBytes); }
};

// The passes of a call: forward, backward, or both.
struct MeasuredCall {
    std::optional<Measured> forward;
    std::optional<Measured> backward;

    double seconds() const;
    const Measured& last() const { return backward ? *backward : *forward; }
    double memory() const;
    double waited() const;
    uint64_t sentBytes() const;
};

// Collective. `tick` is called after each run.
MeasuredCall measureCall(Ranks& ranks, const BenchCall& call, const BenchLimits& limits,
                         const std::function<void()>& tick);
// Seconds of each pass; 0 = the call does not have it.
struct PassSeconds {
    double forward = 0;
    double backward = 0;

    double sum() const { return forward + backward; }
};

// The call by vkf::host on one device, by the host's clock. A call of decode has the keys of one rank of `ranks`.
PassSeconds measureOnOne(host::Device& device, const BenchCall& call, uint32_t ranks, const BenchLimits& limits,
                         const std::function<void()>& tick);

} // namespace vkf::mpi::program
