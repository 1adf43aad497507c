// SPDX-License-Identifier: MIT
#include "slopes.hpp"

#include <cmath>

namespace vkf::ggml {

uint32_t powerOfTwoUpTo(uint32_t n) {
    uint32_t power = 1;
    while (power <= n / 2) {
        power *= 2;
    }
    return power;
}

std::vector<float> slopes(float maxBias, uint32_t heads) {
    const uint32_t n = powerOfTwoUpTo(heads);
    const double first = std::exp2(-double{maxBias} / n);
    const double second = std::exp2(-double{maxBias} / 2 / n);
    std::vector<float> factors;
    for (uint32_t h = 0; h < heads; h++) {
        const double slope = h < n ? std::pow(first, h + 1) : std::pow(second, 2 * (h - n) + 1);
        factors.push_back(static_cast<float>(slope));
    }
    return factors;
}

} // namespace vkf::ggml
