// SPDX-License-Identifier: MIT
//
// Random numbers. A seed gives the same numbers on every machine.
#pragma once

#include <cstdint>

namespace vkf::tools {

// SplitMix64 (Steele, Lea, Flood 2014).
class Generator {
public:
    explicit Generator(uint64_t seed) : state_(seed) {}

    uint64_t next() {
        uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31);
    }

    // The sum of four uniform numbers from one draw. It is close enough to normal here. Unlike
    // std::normal_distribution, it gives the same bits on every platform.
    double nextNormal() {
        const uint64_t bits = next();
        double sum = 0;
        for (int i = 0; i < 4; ++i)
            sum += static_cast<double>((bits >> (16 * i)) & 0xffff) / 65535.0 - 0.5;
        return sum * 1.7320508075688772; // deviation 1
    }

private:
    uint64_t state_;
};

} // namespace vkf::tools
