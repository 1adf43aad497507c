// SPDX-License-Identifier: MIT
//
// Storage types of tensor elements. Every stored value is a float exactly.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <vkflash/problem.h>

namespace vkf::reference {

// A binary floating-point format. Its subnormal numbers are steps of 2^(minExponent - mantissaBits).
struct Format {
    int mantissaBits; // stored bits, without the implicit bit
    int minExponent;  // of the smallest normal number
    double largest;   // largest finite number
};

Format formatOf(VkfType type);

// Distance between neighbouring numbers of the type at the magnitude of x.
double ulp(VkfType type, double x);

// The nearest number of the type, as vkfStoreElement would store it.
double roundElement(VkfType type, double x);

// Rounds the probabilities of a softmax as roundElement does, but in few enough instructions for the inner loops. They
// lie from 0 to 1 or are NaN.
class ProbabilityRounding {
public:
    explicit ProbabilityRounding(VkfType type)
        : dropped_(23U - static_cast<uint32_t>(formatOf(type).mantissaBits)),
          smallestNormal_(std::ldexp(1.0F, formatOf(type).minExponent)),
          shifter_(std::ldexp(smallestNormal_, static_cast<int>(dropped_))) {}

    float operator()(float p) const {
        if (dropped_ == 0 || !(p > 0.0F)) {
            return p;
        }
        if (p < smallestNormal_) {
            return (p + shifter_) - shifter_; // fp32 numbers next to the shifter are the type's subnormal steps apart
        }
        const auto bits = std::bit_cast<uint32_t>(p);
        const uint32_t belowHalf = (1U << (dropped_ - 1)) - 1;
        const uint32_t odd = bits >> dropped_ & 1U;
        return std::bit_cast<float>((bits + belowHalf + odd) >> dropped_ << dropped_);
    }

private:
    uint32_t dropped_; // mantissa bits of fp32 that the type lacks
    float smallestNormal_;
    float shifter_;
};

// How elements of block types, and those of an fp32 q, are rounded to the 16-bit type of a product. fp16 elements past
// the largest finite fp16 become infinite, because a device computes elements of blocks in fp16. In fp16, a device may
// round the product of scale and code before it adds the minimum (`twice`).
struct ProductRounding {
    VkfType type = VKF_TYPE_F32; // F32 = no rounding
    bool twice = false;
};

// Rounds x once to the rounding's type.
float roundForProduct(const ProductRounding& rounding, double x);

// The fp8 number of this type that is nearest to x, of two the even one, as vkfQuantizeBlocks rounds.
uint8_t encodeFp8(VkfType type, float x);

// Writes the 32 elements of a block to `values`. Not of an fp8 type.
void dequantizeBlock(VkfType type, const void* from, float* values, ProductRounding rounding = {});

// Reads `count` neighbouring elements from index `first` on and writes them `step` elements apart. Rounds elements of
// block types.
template <typename Real>
void loadElements(VkfType type, const void* base, uint64_t first, uint32_t count, Real* to, size_t step,
                  ProductRounding rounding = {});

// The largest size of the finite numbers of a row.
inline double largestFinite(const std::vector<double>& row) {
    double largest = 0.0;
    for (const double x : row) {
        largest = std::isfinite(x) ? std::max(largest, std::abs(x)) : largest;
    }
    return largest;
}

} // namespace vkf::reference
