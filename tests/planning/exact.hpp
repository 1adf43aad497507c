// SPDX-License-Identifier: MIT
//
// Exact integers that know whether a 32-bit number would have held them and all numbers that they were computed from.
// The macros of shaders/shared/work_items.h take them as well as the shaders' own numbers.
#pragma once

#include <concepts>
#include <cstdint>

namespace vkf::test {

template <int64_t least, int64_t most> class Exact {
public:
    template <std::integral Number>
    constexpr Exact(Number number) // the macros mix in literals
        : value_(static_cast<int64_t>(number)), fits_(value_ >= least && value_ <= most) {}

    // Exact even if it does not fit, unless the number that did not fit was multiplied.
    int64_t value() const { return value_; }
    bool fits() const { return fits_; }

    friend Exact operator+(Exact a, Exact b) { return {a, b, a.value_ + b.value_}; }
    friend Exact operator-(Exact a, Exact b) { return {a, b, a.value_ - b.value_}; }
    friend Exact operator/(Exact a, Exact b) { return {a, b, a.value_ / b.value_}; }
    friend Exact operator%(Exact a, Exact b) { return {a, b, a.value_ % b.value_}; }
    friend Exact operator*(Exact a, Exact b) {
        const auto product = static_cast<uint64_t>(a.value_) * static_cast<uint64_t>(b.value_); // 32 bits each
        constexpr auto over = int64_t{1} << 40;
        return {a, b, product < uint64_t{over} ? static_cast<int64_t>(product) : over};
    }
    friend bool operator==(Exact a, Exact b) { return a.value_ == b.value_; }
    friend Exact min(Exact a, Exact b) { return a.value_ < b.value_ ? Exact(a, b, a.value_) : Exact(a, b, b.value_); }

private:
    constexpr Exact(Exact a, Exact b, int64_t value)
        : value_(value), fits_(a.fits_ && b.fits_ && value >= least && value <= most) {}

    int64_t value_;
    bool fits_;
};

using Count = Exact<0, UINT32_MAX>;           // uint of GLSL
using Position = Exact<INT32_MIN, INT32_MAX>; // int of GLSL

} // namespace vkf::test
