// SPDX-License-Identifier: MIT
//
// Random choices of a test case. The seed reproduces them.
#pragma once

#include <array>
#include <cstdint>
#include <random>

namespace vkf::test {

class Dice {
public:
    explicit Dice(uint32_t seed) : random_(seed) {}

    template <size_t count> uint32_t of(const std::array<uint32_t, count>& values) { return values[below(count)]; }
    uint32_t below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }
    bool oneIn(uint32_t n) { return below(n) == 0; }

private:
    std::mt19937_64 random_;
};

} // namespace vkf::test
