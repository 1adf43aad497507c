// SPDX-License-Identifier: MIT
#include "reference/element.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include <vkflash/reference.h>

#include "problem/problem.hpp"

namespace vkf::reference {
namespace {

template <typename Bits> Bits readBits(const void* base, uint64_t element) {
    Bits bits;
    std::memcpy(&bits, static_cast<const unsigned char*>(base) + element * sizeof(Bits), sizeof(Bits));
    return bits;
}

template <typename Bits> void writeBits(void* base, uint64_t element, Bits bits) {
    std::memcpy(static_cast<unsigned char*>(base) + element * sizeof(Bits), &bits, sizeof(Bits));
}

float floatOfBf16(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

float floatOfF16(uint16_t bits) {
    const uint32_t sign = uint32_t{bits & 0x8000U} << 16;
    const uint32_t magnitude = bits & 0x7fffU;
    if (magnitude < 0x0400U) { // zero and subnormal
        const float value = static_cast<float>(magnitude) * 0x1p-24F;
        return std::bit_cast<float>(std::bit_cast<uint32_t>(value) | sign);
    }
    if (magnitude >= 0x7c00U) { // infinity and NaN
        return std::bit_cast<float>(sign | 0x7f800000U | (magnitude & 0x03ffU) << 13);
    }
    return std::bit_cast<float>(sign | ((magnitude << 13) + ((127U - 15U) << 23)));
}

// Returns the bits of a 16-bit format: sign, exponent, mantissa. Rounds once, from fp64, so that there is no double
// rounding.
uint16_t encode16(const Format& format, double x) {
    const auto bits = std::bit_cast<uint64_t>(x);
    const auto sign = static_cast<uint16_t>(bits >> 48 & 0x8000U);
    const auto infinity = static_cast<uint16_t>(0x7fffU >> format.mantissaBits << format.mantissaBits);
    if (std::isnan(x)) {
        return static_cast<uint16_t>(sign | infinity | 1U << (format.mantissaBits - 1));
    }
    if (std::isinf(x)) {
        return static_cast<uint16_t>(sign | infinity);
    }
    const int exponent = static_cast<int>(bits >> 52 & 0x7ffU) - 1023;
    // How many of the 52 mantissa bits of fp64 are dropped. A subnormal fp64 is far below half of the smallest step.
    const int least = exponent < format.minExponent ? format.minExponent : exponent;
    const int shift = 52 - format.mantissaBits + (least - exponent);
    if (shift > 53) {
        return sign;
    }
    const uint64_t significand = (bits & 0xfffffffffffffU) | 0x10000000000000U;
    const uint64_t half = uint64_t{1} << (shift - 1);
    const uint64_t odd = significand >> shift & 1U;
    const uint64_t steps = (significand + half - 1 + odd) >> shift;
    // The implicit bit of a normal number, and a carry out of the mantissa, each add 1 to the exponent.
    const uint64_t magnitude = (static_cast<uint64_t>(least - format.minExponent) << format.mantissaBits) + steps;
    return static_cast<uint16_t>(sign | (magnitude < infinity ? magnitude : infinity - 1U));
}

float floatOfE4m3(uint8_t bits) {
    const unsigned magnitude = bits & 0x7fU;
    const float x = magnitude == 0x7fU ? std::numeric_limits<float>::quiet_NaN()
                    : magnitude < 8U
                        ? static_cast<float>(magnitude) * 0x1p-9F
                        : std::ldexp(static_cast<float>(8U + magnitude % 8U), static_cast<int>(magnitude / 8U) - 10);
    return std::copysign(x, (bits & 0x80U) != 0 ? -1.0F : 1.0F);
}

// Reads the elements of blocks in their order, and dequantises each block once.
class BlockReader {
public:
    BlockReader(VkfType type, const void* base, ProductRounding rounding)
        : type_(type), base_(static_cast<const unsigned char*>(base)), rounding_(rounding) {}

    float operator()(uint64_t element) {
        const uint64_t block = element / VKF_BLOCK_ELEMENTS;
        if (block != block_) {
            dequantizeBlock(type_, base_ + block * VKF_BLOCK_BYTES(type_), values_.data(), rounding_);
            block_ = block;
        }
        return values_[element % VKF_BLOCK_ELEMENTS];
    }

private:
    VkfType type_;
    const unsigned char* base_;
    ProductRounding rounding_;
    uint64_t block_ = std::numeric_limits<uint64_t>::max();
    std::array<float, VKF_BLOCK_ELEMENTS> values_{};
};

} // namespace

Format formatOf(VkfType type) {
    switch (type) {
    case VKF_TYPE_F16:
        return {10, -14, 65504.0};
    case VKF_TYPE_BF16:
        return {7, -126, 0x1.fep127};
    case VKF_TYPE_F8_E4M3:
        return {3, -6, 448.0};
    case VKF_TYPE_F8_E5M2:
        return {2, -14, 57344.0};
    default:
        return {23, -126, static_cast<double>(std::numeric_limits<float>::max())};
    }
}

double ulp(VkfType type, double x) {
    const Format format = formatOf(type);
    const int exponent = x == 0.0 ? format.minExponent : std::ilogb(x);
    return std::ldexp(1.0, (exponent < format.minExponent ? format.minExponent : exponent) - format.mantissaBits);
}

double roundElement(VkfType type, double x) {
    float stored{}; // room for any type
    vkfStoreElement(type, &stored, 0, x);
    return vkfLoadElement(type, &stored, 0);
}

uint8_t encodeFp8(VkfType type, float x) {
    const Format format = formatOf(type);
    const bool hasInfinity = type == VKF_TYPE_F8_E5M2;
    const unsigned sign = std::signbit(x) ? 0x80U : 0U;
    if (std::isnan(x)) {
        return static_cast<uint8_t>(sign | (hasInfinity ? 0x7eU : 0x7fU));
    }
    if (hasInfinity && std::isinf(x)) {
        return static_cast<uint8_t>(sign | 0x7cU);
    }
    const double size = std::min(std::abs(static_cast<double>(x)), format.largest);
    const double step = ulp(type, size);
    const double steps = std::nearbyint(size / step);                                   // to nearest, ties to even
    const int exponent = std::ilogb(step) - (format.minExponent - format.mantissaBits); // steps of a normal number
    const double code = exponent * std::ldexp(1.0, format.mantissaBits) + steps;
    return static_cast<uint8_t>(sign | static_cast<unsigned>(code));
}

float roundForProduct(const ProductRounding& rounding, double x) {
    if (rounding.type == VKF_TYPE_F32) {
        return static_cast<float>(x);
    }
    constexpr double overflow = 65520.0;
    return static_cast<float>(rounding.type == VKF_TYPE_F16 && std::abs(x) >= overflow
                                  ? std::copysign(std::numeric_limits<double>::infinity(), x)
                                  : roundElement(rounding.type, x));
}

template <typename Real>
void loadElements(VkfType type, const void* base, uint64_t first, uint32_t count, Real* to, size_t step,
                  ProductRounding rounding) {
    const auto load = [&](auto&& element) {
        for (uint32_t i = 0; i < count; i++) {
            to[i * step] = static_cast<Real>(element(first + i));
        }
    };
    switch (type) {
    case VKF_TYPE_F16:
        return load([base](uint64_t i) { return floatOfF16(readBits<uint16_t>(base, i)); });
    case VKF_TYPE_BF16:
        return load([base](uint64_t i) { return floatOfBf16(readBits<uint16_t>(base, i)); });
    case VKF_TYPE_F32:
        return load([base](uint64_t i) { return readBits<float>(base, i); });
    case VKF_TYPE_F8_E4M3:
        return load([base](uint64_t i) { return floatOfE4m3(readBits<uint8_t>(base, i)); });
    case VKF_TYPE_F8_E5M2:
        return load([base](uint64_t i) { return floatOfF16(static_cast<uint16_t>(readBits<uint8_t>(base, i) << 8)); });
    default:
        return load(BlockReader(type, base, rounding));
    }
}

template void loadElements(VkfType, const void*, uint64_t, uint32_t, float*, size_t, ProductRounding);
template void loadElements(VkfType, const void*, uint64_t, uint32_t, double*, size_t, ProductRounding);

} // namespace vkf::reference

double vkfLoadElement(VkfType type, const void* base, uint64_t element) {
    using namespace vkf::reference;
    if (base == nullptr || vkfBlockElements(type) == 0) {
        return std::numeric_limits<double>::quiet_NaN();
    }
    double value{};
    loadElements(type, base, element, 1, &value, 1);
    return value;
}

void vkfStoreElement(VkfType type, void* base, uint64_t element, double value) {
    using namespace vkf::reference;
    if (base == nullptr || vkfTypeBytes(type) == 0) {
        return;
    }
    if (type == VKF_TYPE_F32) {
        writeBits(base, element, static_cast<float>(value));
    } else {
        writeBits(base, element, encode16(formatOf(type), value));
    }
}
