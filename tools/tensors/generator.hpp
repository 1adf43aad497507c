// SPDX-License-Identifier: MIT
//
// Random numbers. A seed gives the same numbers on every machine.
#ifndef VKFLASH_TOOLS_GENERATOR_HPP
#define VKFLASH_TOOLS_GENERATOR_HPP

#include <cstdint>

namespace vkf::tools {

// SplitMix64 (Steele, Lea, Flood 2014).
class Generator {
public:
    explicit Generator(uint64_t seed) : state_(seed) {}

    uint64_t next();
    // The sum of four uniform numbers from one draw. It is close enough to normal here. Unlike
    // std::normal_distribution, it gives the same bits on every platform.
    double nextNormal();

private:
    uint64_t state_;
};

} // namespace vkf::tools

#endif
