// SPDX-License-Identifier: MIT
//
// Lists of reasons why something cannot be done.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

namespace vkf {

struct Refusal {
    bool applies;
    const char* reason;
};

// Returns the first reason that applies, or null.
template <size_t count> const char* firstOf(const std::array<Refusal, count>& refusals) {
    const auto first = std::find_if(refusals.begin(), refusals.end(), [](const Refusal& one) { return one.applies; });
    return first != refusals.end() ? first->reason : nullptr;
}

} // namespace vkf
