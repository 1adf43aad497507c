// SPDX-License-Identifier: MIT
//
// Storage types of tensor elements: F32, F16 and BF16. Every stored value is a float exactly.
#pragma once

#include <cstddef>
#include <cstdint>

#include <vkflash/problem.h>

namespace vkf::reference {

// A binary floating-point format. Its subnormal numbers are steps of 2^(minExponent - mantissaBits).
struct Format {
    int mantissaBits; // stored ones, without the implicit one
    int minExponent;  // of the smallest normal number
    double largest;   // finite
};

Format formatOf(VkfType type);

// Distance between neighbouring numbers of the type at the magnitude of x.
double ulp(VkfType type, double x);

// The nearest number of the type, as vkfStoreElement would store it.
double roundElement(VkfType type, double x);

// Reads `count` neighbouring elements from index `first` on and writes them `step` places apart.
template <typename Real>
void loadElements(VkfType type, const void* base, uint64_t first, uint32_t count, Real* to, size_t step);

} // namespace vkf::reference
