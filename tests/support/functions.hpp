// SPDX-License-Identifier: MIT
//
// Functions of the caller's own in a call under test.
#pragma once

#include <cstdint>

#include "support/call.hpp"

namespace vkf::test {

struct Pair {
    uint64_t batch, head, row, key;
};

// Whether the mask of the caller's own keeps a pair. `keys` is the length of the sequence.
inline bool isKept(const VkfProblem& problem, const OwnFunctions* functions, int64_t keys, const Pair& pair) {
    if (functions == nullptr || functions->reference.keep == nullptr || static_cast<int64_t>(pair.key) >= keys) {
        return true;
    }
    const int64_t offset = problem.alignment == VKF_ALIGNMENT_TOP_LEFT ? 0 : keys - int64_t{problem.queryRows};
    const VkfPosition at{static_cast<int32_t>(pair.batch),
                         static_cast<int32_t>(pair.head),
                         static_cast<int32_t>(pair.head / (problem.queryHeads / problem.kvHeads)),
                         static_cast<int32_t>(static_cast<int64_t>(pair.row) + offset),
                         static_cast<int32_t>(pair.key),
                         static_cast<int32_t>(problem.queryRows),
                         static_cast<int32_t>(keys)};
    return functions->reference.keep(&at, functions->reference.user) != 0;
}

} // namespace vkf::test
