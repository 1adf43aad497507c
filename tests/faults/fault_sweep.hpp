// SPDX-License-Identifier: MIT
//
// Runs work once for each thing that can go wrong in it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_container_properties.hpp>

#include "faults/faults.hpp"
#include "support/allocations.hpp"

namespace vkf::test {

// What a run under a fault came to.
struct Attempt {
    VkfResult result = VKF_SUCCESS;
    std::string message;
};

inline std::string textOf(const Fault& fault) {
    return fault.function + ", call " + std::to_string(fault.call) + ", returns " + std::to_string(fault.result);
}

// Returns the fault that hits calls[index].
inline Fault faultAt(const std::vector<std::string>& calls, size_t index, VkResult error) {
    const auto at = calls.begin() + static_cast<std::ptrdiff_t>(index);
    const auto earlier = static_cast<uint64_t>(std::count(calls.begin(), at, *at));
    return {.function = *at, .call = earlier, .result = error};
}

// Calls run(fault) for each of the calls, and for each error that it may return.
inline void forEachError(const std::vector<std::string>& calls, const std::function<void(const Fault&)>& run) {
    for (size_t i = 0; i < calls.size(); i++) {
        for (const VkResult error : errorsOf(calls[i])) {
            run(faultAt(calls, i, error));
        }
    }
}

// Calls run(index), which returns whether allocation `index` failed, until the work has no more allocations. Returns
// their number.
inline size_t forEachAllocation(const std::function<bool(size_t)>& run) {
    constexpr size_t most = 100'000; // a run that never ends is a fault of the test
    size_t index = 0;
    while (run(index)) {
        index++;
        REQUIRE(index < most);
    }
    return index;
}

// Checks that the library said which call failed, in one line.
inline void checkMessage(const std::string& message, const std::string& words) {
    CHECK(message.find(words) != std::string::npos);
    CHECK(message.find('\n') == std::string::npos);
}

// Checks that nothing is left of the objects that were created through faultyEntry, and that none was destroyed that
// does not exist.
inline void checkNothingLeft() { CHECK_THAT(Faults::takeLeftovers(), Catch::Matchers::IsEmpty()); }

} // namespace vkf::test
