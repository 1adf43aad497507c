// SPDX-License-Identifier: MIT
//
// What a call has besides functions. Every example meets some of these.
#pragma once

#include <vector>

#include "support/call.hpp"

namespace vkf::test {

struct Situation {
    const char* name;
    // For problems with two sequences, four heads, and a D of 32.
    void (*change)(VkfProblem& problem, Data& data);
};

const std::vector<Situation>& situations();

} // namespace vkf::test
