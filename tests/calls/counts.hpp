// SPDX-License-Identifier: MIT
//
// Tables of the numbers that a problem has, for tests that set each of them to 0, to 1, to its limit and past it, alone
// and in pairs.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <vkflash/vkflash.h>

#include "calls/context.hpp"

namespace vkf::test {

// One number of a problem, and the values that a test gives it.
template <typename Problem> struct Count {
    const char* name;
    std::vector<uint64_t> values;
    void (*set)(Problem&, uint64_t);
};

inline constexpr uint64_t max32Bits = std::numeric_limits<uint32_t>::max();
inline constexpr uint64_t max64Bits = std::numeric_limits<uint64_t>::max();

// 0, 1, the limit of the field, and the largest number that it can hold.
inline std::vector<uint64_t> upTo(uint64_t limit) {
    return limit < max32Bits ? std::vector<uint64_t>{0, 1, limit, max32Bits} : std::vector<uint64_t>{0, 1, max32Bits};
}
inline std::vector<uint64_t> distances() { return {0, 1, (uint64_t{1} << 62) - 1, max64Bits}; }

// Calls visit(problem, text) with each number at each of its values, and then with each pair of numbers.
// `turn` numbers the pairs. A visitor that does not want all of them looks at it.
template <typename Problem, typename Visit>
void forEachCount(const Problem& base, std::span<const Count<Problem>> counts, const Visit& visit) {
    uint32_t turn = 0;
    for (size_t i = 0; i < counts.size(); i++) {
        for (const uint64_t first : counts[i].values) {
            Problem one = base;
            counts[i].set(one, first);
            const std::string text = std::string(counts[i].name) + " = " + std::to_string(first);
            visit(one, text, turn++);
            for (size_t j = i + 1; j < counts.size(); j++) {
                for (const uint64_t second : counts[j].values) {
                    Problem two = one;
                    counts[j].set(two, second);
                    visit(two, text + ", " + counts[j].name + " = " + std::to_string(second), turn++);
                }
            }
        }
    }
}

// What a fake device was told since the last reset.
struct FakeRecord {
    uint64_t dispatches = 0;
    bool emptyDispatch = false; // of no workgroup, or of more than the device takes
    uint64_t fullBarriers = 0;  // of all commands and memory accesses
    bool beginsWithFullBarrier = false;
    bool endsWithFullBarrier = false;
};

// A context whose device takes every command and does nothing. Pipelines cost nothing. Launches need a FakeLaunches.
class FakeContext {
public:
    explicit FakeContext(const Caps& caps, VkfDebug debug = 0);
    VkfContext get() { return &context_; }
    const VkfContext_T& operator*() const { return context_; }
    static VkCommandBuffer commandBuffer();
    static FakeRecord takeRecord();

private:
    VkfContext_T context_;
};

// Fails the test unless the result is success without a message, or a refusal in words.
void checkResult(VkfResult result, const VkfMessage& message);

} // namespace vkf::test
