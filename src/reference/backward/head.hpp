// SPDX-License-Identifier: MIT
//
// The keys and values of one KV head for the backward pass, which needs the products q k, dout v, p v and ds k.
#pragma once

#include "reference/backward/call.hpp"
#include "reference/kv_head.hpp"

namespace vkf::reference {

class BackwardHead {
public:
    explicit BackwardHead(const BackwardCall& call);

    // Reads the keys of one KV head that masks by length leave.
    void load(uint32_t batch, uint32_t kvHead);

    const KvHead& scores() const { return scores_; } // for dotKeys with q
    const KvHead& values() const { return values_; } // k and v are swapped: dotKeys with dout, addValue of k

    // Row of k or of v.
    const float* k(int64_t key) const { return &values_.v[static_cast<size_t>(key) * values_.columns]; }
    const float* v(int64_t key) const { return &scores_.v[static_cast<size_t>(key) * scores_.columns]; }

private:
    Call call_;
    Call swapped_; // the call with k and v in each other's place
    KvHead scores_;
    KvHead values_;
};

// Returns sum + a * b with one rounding to Real, or with two. a and b are values of Real, whose product is exact in
// fp64 if Real is float.
template <typename Real, bool twoRoundings> Real addProduct(double a, double b, Real sum) {
    const double product = a * b;
    return twoRoundings ? static_cast<Real>(product) + sum : static_cast<Real>(product + static_cast<double>(sum));
}

// to += factor * row, for `count` numbers.
template <typename Real, bool twoRoundings> void addRow(Real factor, const double* row, uint32_t count, Real* to) {
    for (uint32_t d = 0; d < count; d++) {
        to[d] = addProduct<Real, twoRoundings>(static_cast<double>(factor), row[d], to[d]);
    }
}

} // namespace vkf::reference
