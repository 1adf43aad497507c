// SPDX-License-Identifier: MIT
//
// How far the numbers of a kernel, and those of the fp32 runs, are off the exact numbers.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

namespace vkf::reference {

// The floor of a bound, in units in the last place.
inline constexpr double floorUlps = 4.0;

// One number, as each of the two fp32 runs computes it.
using Rounded = std::array<double, 2>;

inline bool sameKind(double a, double b) { return std::isnan(a) ? std::isnan(b) : a == b; }

// How far a value is off. If the exact number is finite, and the number of an fp32 run is not, then fp32 itself
// overflows. The kernel may overflow in the same way.
inline double distance(double value, double exact, const Rounded& rounded) {
    if (std::isfinite(exact) && std::isfinite(value)) {
        return std::abs(value - exact);
    }
    return !std::isfinite(value) &&
                   (sameKind(value, exact) || sameKind(value, rounded[0]) || sameKind(value, rounded[1]))
               ? 0.0
               : std::numeric_limits<double>::infinity();
}

// The largest error of one output, and its bound.
class Comparison {
public:
    void add(double error, double value, double exact, const Rounded& rounded, uint64_t element) {
        if (std::isfinite(exact)) {
            largest_ = std::max(largest_, std::abs(exact));
            squares_ += exact * exact;
            finite_ += 1.0;
            for (const double run : rounded) {
                if (std::isfinite(run)) {
                    roundedError_ = std::max(roundedError_, std::abs(run - exact));
                }
            }
        }
        if (error > error_ || !any_) {
            any_ = true;
            error_ = error;
            worst_ = {value, exact, element};
        }
    }

    struct Worst {
        double value;
        double reference;
        uint64_t element;
    };

    double error() const { return error_; }
    double bound(double floor) const { return 2.0 * roundedError_ + floor; }
    // Largest magnitude of the exact numbers.
    double largest() const { return largest_; }
    double rms() const { return finite_ == 0.0 ? 0.0 : std::sqrt(squares_ / finite_); }
    const Worst& worst() const { return worst_; }

private:
    bool any_ = false;
    double error_ = 0.0;
    double roundedError_ = 0.0;
    double largest_ = 0.0;
    double squares_ = 0.0;
    double finite_ = 0.0;
    Worst worst_{};
};

} // namespace vkf::reference
