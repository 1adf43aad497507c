// SPDX-License-Identifier: MIT
//
// How far the numbers of a kernel, and those of the fp32 runs, are off the exact numbers.
//
// A bound belongs to its row. The fp32 runs agree with the exact run in some rows by chance, so the bound of a row is
// made from many rows. But a row of huge scores or values may be far off, and must not loosen the bounds of usual rows.
// So each row has a class, by its magnitudes. The bound of a row is made from the rows that are no larger in any
// magnitude.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <compare>
#include <cstdint>
#include <limits>
#include <map>

namespace vkf::reference {

// The floor of a bound, in units in the last place.
inline constexpr double floorUlps = 4.0;
// Part of every bound. A device may take fp32 numbers below 2^-126 for 0, and the sums of what it lost are larger.
inline constexpr double lostBelowNormal = 0x1p-110;

// One number, as each of the two fp32 runs computes it.
using Rounded = std::array<double, 2>;

inline bool sameKind(double a, double b) { return std::isnan(a) ? std::isnan(b) : a == b; }

// How far a value is off. NaN and infinity must stand where the exact run has them. Which of the two it is may be as in
// an fp32 run: a probability that is too small for fp32 makes NaN of an infinite value. `mayOverflow`: the contract
// promises nothing for numbers as large as those of this row, so they may also stand where only an fp32 run has them.
inline double distance(double value, double exact, const Rounded& rounded, bool mayOverflow) {
    if (std::isfinite(exact) && std::isfinite(value)) {
        return std::abs(value - exact);
    }
    const bool asRounded = !std::isfinite(value) && (sameKind(value, rounded[0]) || sameKind(value, rounded[1]));
    return sameKind(value, exact) || (asRounded && (mayOverflow || !std::isfinite(exact)))
               ? 0.0
               : std::numeric_limits<double>::infinity();
}

// Magnitudes of a row on a coarse scale.
struct RowClass {
    int score = 0;
    int value = 0;

    auto operator<=>(const RowClass&) const = default;
    bool isNoLargerThan(const RowClass& other) const { return score <= other.score && value <= other.value; }
};

// 0 for usual scores, up to 64; then one more for each factor of 16. A row's scores are as large as its lse, or as what
// cancels in them (RowMagnitudes::scores).
inline int scoreClass(double lse, double scores) {
    constexpr double usual = 64.0;
    const double size = std::max(std::isfinite(lse) ? std::abs(lse) : 0.0, std::isfinite(scores) ? scores : 0.0);
    return size <= usual ? 0 : 1 + static_cast<int>(std::log2(size / usual) / 4);
}

// One more for each factor of 256. A size of 0 has the lowest class.
inline int valueClass(double value) {
    constexpr int lowest = -200;
    const double size = std::abs(value);
    return !std::isfinite(size) ? 0 : size == 0.0 ? lowest : static_cast<int>(std::floor(std::log2(size) / 8));
}

// The numbers of rows of one class, or of several.
struct ClassErrors {
    double error = -1.0;    // largest of the kernel
    double value = 0.0;     // the element with this error
    double reference = 0.0; // its exact number
    uint64_t element = 0;
    double roundedError = 0.0; // largest of the fp32 runs
    double largest = 0.0;      // exact number
    double estimate = 0.0;     // largest of what roundings may change
};

// By how much an estimate exceeds the bound that the fp32 runs give: where they agree with the exact run by chance.
inline double beyondRuns(double estimate, const ClassErrors& errors) {
    return std::max(estimate - 2.0 * errors.roundedError, 0.0);
}

// The row that is furthest over its bound. If no row is over its bound: the row with the largest error.
struct Judgement {
    ClassErrors worst{};
    double bound = 0.0;
    double rms = 0.0;

    double error() const { return std::max(worst.error, 0.0); }
    bool passed() const { return error() <= bound; }
};

// All numbers of one output.
class Comparison {
public:
    void add(RowClass ofRow, double error, double value, double exact, const Rounded& rounded, uint64_t element,
             double estimate = 0.0) {
        ClassErrors& errors = errorsOf(ofRow);
        if (std::isfinite(exact)) {
            errors.largest = std::max(errors.largest, std::abs(exact));
            squares_ += exact * exact;
            finite_ += 1.0;
            for (const double run : rounded) {
                if (std::isfinite(run)) {
                    errors.roundedError = std::max(errors.roundedError, std::abs(run - exact));
                }
            }
        }
        errors.estimate = std::isfinite(estimate) ? std::max(errors.estimate, estimate) : errors.estimate;
        if (error > errors.error) {
            errors.error = error;
            errors.value = value;
            errors.reference = exact;
            errors.element = element;
        }
    }

    // floorOf(errors) is the floor of the bound of rows whose numbers are no larger than these.
    template <typename Floor> Judgement judge(const Floor& floorOf) const {
        Judgement judgement;
        double worstShare = -1.0;
        for (const auto& [ofRow, errors] : classes_) {
            const ClassErrors below = upTo(ofRow);
            const double bound = 2.0 * below.roundedError + floorOf(below) + lostBelowNormal;
            const double share = errors.error > bound ? errors.error / bound : 0.0; // over 1, or infinite
            if (share > worstShare || (share == worstShare && errors.error > judgement.worst.error)) {
                worstShare = share;
                judgement.worst = errors;
                judgement.bound = bound;
            }
        }
        judgement.rms = finite_ == 0.0 ? 0.0 : std::sqrt(squares_ / finite_);
        return judgement;
    }

private:
    ClassErrors& errorsOf(const RowClass& ofRow) {
        if (present_ == nullptr || ofRow != presentClass_) {
            presentClass_ = ofRow;
            present_ = &classes_[ofRow];
        }
        return *present_;
    }

    // The largest numbers of all rows that are no larger than this class in any size.
    ClassErrors upTo(const RowClass& most) const {
        ClassErrors all;
        for (const auto& [ofRow, errors] : classes_) {
            if (ofRow.isNoLargerThan(most)) {
                all.roundedError = std::max(all.roundedError, errors.roundedError);
                all.largest = std::max(all.largest, errors.largest);
                all.estimate = std::max(all.estimate, errors.estimate);
            }
        }
        return all;
    }

    std::map<RowClass, ClassErrors> classes_;
    RowClass presentClass_; // of the last number, because the numbers of a row follow each other
    ClassErrors* present_ = nullptr;
    double squares_ = 0.0;
    double finite_ = 0.0;
};

} // namespace vkf::reference
