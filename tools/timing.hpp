// SPDX-License-Identifier: MIT
#ifndef VKFLASH_TOOLS_TIMING_HPP
#define VKFLASH_TOOLS_TIMING_HPP

#include <cstddef>
#include <functional>
#include <vector>

namespace vkf::tools {

struct TimingOptions {
    size_t warmUps = 1;
    size_t maxRuns = 21;
    double seconds = 0.5; // of wall time, after which no further run starts; at least one is made
};

struct Timing {
    double median = 0;
    double least = 0;
    double most = 0;
    size_t runs = 0;
};

// `run` does the work once and returns its seconds.
Timing measure(const std::function<double()>& run, const TimingOptions& options);

} // namespace vkf::tools

#endif
