// SPDX-License-Identifier: MIT
//
// The calls that the bench times.
#pragma once

#include <string>
#include <vector>

#include <vkflash/mpi.hpp>

namespace vkf::mpi::program {

// What a row of the bench times: a pass, a forward and a backward pass, or new rows over a cache.
enum class Work { forward, backward, both, decode };

struct BenchCall {
    std::string name;
    Work work = Work::forward;
    VkfProblem problem{};
    Split split; // not of decode
};

// The standard calls. Their tokens are divided by `divisor`, for a try on a small device.
std::vector<BenchCall> standardCalls(uint32_t divisor);

} // namespace vkf::mpi::program
