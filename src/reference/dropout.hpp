// SPDX-License-Identifier: MIT
//
// The probabilities of a row that dropout leaves out of o, bit for bit as in the kernels (shaders/scores/dropout.glsl).
#pragma once

#include <array>
#include <cstdint>

#include "problem/dropout.hpp"
#include "reference/call.hpp"

namespace vkf::reference {

// Philox4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3").
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

// The generator of one query row.
class RowGenerator {
public:
    RowGenerator() = default;
    RowGenerator(uint64_t seed, uint32_t batch, uint32_t head, uint32_t row);

    uint32_t number(uint32_t key) const {
        uint32_t x = key * 0x9e3779b9U + a_;
        x = (x ^ x >> 16U) * 0x21f0aaadU;
        x = (x ^ x >> 15U ^ b_) * 0x735a2d97U;
        return x ^ x >> 15U;
    }

private:
    uint32_t a_ = 0;
    uint32_t b_ = 0;
};

class RowDropout {
public:
    explicit RowDropout(const Call& call)
        : call_(&call), any_(hasDropout(call.problem)), threshold_(dropoutThreshold(call.problem.dropout)),
          scale_(dropoutScale(call.problem.dropout)) {}

    void load(uint32_t batch, uint32_t queryHead, uint32_t row);

    bool keeps(int64_t key) const {
        if (!any_) {
            return true;
        }
        return mask_.bytes != nullptr ? mask_.keeps(row_, key)
                                      : generator_.number(static_cast<uint32_t>(key)) >= threshold_;
    }
    // The factor of a key's probability on its way into o. It is scale() for kept keys, and 0 for the others.
    double factor(int64_t key) const { return keeps(key) ? scale_ : 0.0; }
    double scale() const { return scale_; }

private:
    const Call* call_;
    bool any_;
    uint32_t threshold_;
    double scale_;
    uint32_t row_ = 0;
    BooleanMask mask_{};
    RowGenerator generator_;
};

} // namespace vkf::reference
