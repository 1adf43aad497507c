// SPDX-License-Identifier: MIT
#include "tensors/generator.hpp"

namespace vkf::tools {

uint64_t Generator::next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

double Generator::nextNormal() {
    const uint64_t bits = next();
    double sum = 0;
    for (int i = 0; i < 4; ++i)
        sum += static_cast<double>((bits >> (16 * i)) & 0xffff) / 65535.0 - 0.5;
    return sum * 1.7320508075688772; // deviation 1
}

} // namespace vkf::tools
