// SPDX-License-Identifier: MIT
//
// The keys and values of one KV head, widened to float and laid out for the inner loops of all algorithms; and these
// loops.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/call.hpp"
#include "reference/element.hpp"
#include "reference/visible.hpp"

namespace vkf::reference {

// Keys, or columns of v, that an inner loop works on together. A compile-time constant, so that compilers vectorise.
inline constexpr uint32_t lanes = 8;

// n rounded up to a multiple of `lanes`.
constexpr size_t padded(size_t n) { return (n + lanes - 1) / lanes * lanes; }

struct KvHead {
    uint32_t headDim = 0;
    size_t columns = 0;           // of a row of v, padded with zeros
    std::vector<float> k;         // groups of `lanes` keys side by side: [key / lanes][headDim][key % lanes]
    std::vector<float> v;         // [key][columns]
    std::vector<double> normsOfK; // the length |k| of each key
    double keyScale = 1.0;        // multiplies k; k, v and the norms are without these numbers
    double valueScale = 1.0;      // multiplies v
};

// How a kernel rounds elements of block types, and those of an fp32 q, on their way into a product of 16-bit types.
ProductRounding productRounding(const Call& call);

// Returns a KvHead with room for any head of the call.
KvHead makeKvHead(const Call& call);

// Fills in the scales of one head.
void loadScales(const Call& call, uint32_t kvHead, KvHead* to);

// Fills in a range of keys of one head. Its begin and end are multiples of `lanes`; its end may also be that of all
// keys. Leaves out keys without a page.
void loadKeys(const Call& call, uint32_t batch, uint32_t kvHead, KeyRange keys, KvHead* to, const Pages& pages = {});

// Returns sum + a * b with one rounding to Real. The product of two floats is exact in fp64. So for Real = float this
// is std::fma, except for double rounding in one case of 2^29. It needs no slow library call on processors that have no
// such instruction. With twoRoundings, the product is rounded first.
template <typename Real, bool twoRoundings> Real multiplyAdd(double a, float b, Real sum) {
    const double product = a * static_cast<double>(b);
    return twoRoundings ? static_cast<Real>(product) + sum : static_cast<Real>(product + static_cast<double>(sum));
}

// Writes q . k of the keys of a range to s[0 ...]. Adds up in the order of the columns, and rounds to Real at
// every step, and once more after the scale of k. q holds values of a storage type.
template <typename Real, bool twoRoundings> void dotKeys(const KvHead& head, const double* q, KeyRange keys, Real* s) {
    for (int64_t group = keys.begin / lanes * lanes; group < keys.end; group += lanes) {
        const float* k = head.k.data() + static_cast<size_t>(group) * head.headDim;
        Real sum[lanes] = {};
        for (uint32_t d = 0; d < head.headDim; d++, k += lanes) {
            for (uint32_t lane = 0; lane < lanes; lane++) {
                sum[lane] = multiplyAdd<Real, twoRoundings>(q[d], k[lane], sum[lane]);
            }
        }
        const KeyRange wanted = intersection(keys, {group, group + lanes});
        for (int64_t key = wanted.begin; key < wanted.end; key++) {
            s[key - keys.begin] = static_cast<Real>(static_cast<double>(sum[key - group]) * head.keyScale);
        }
    }
}

// o += p v for one key. The scale of v multiplies p, whose product is exact in fp64 for Real = float. o has room for
// head.columns numbers.
template <typename Real, bool twoRoundings> void addValue(const KvHead& head, Real p, int64_t key, Real* o) {
    const float* v = head.v.data() + static_cast<size_t>(key) * head.columns;
    const double factor = static_cast<double>(p) * head.valueScale;
    for (size_t column = 0; column < head.columns; column += lanes) {
        Real sum[lanes];
        for (uint32_t lane = 0; lane < lanes; lane++) {
            sum[lane] = multiplyAdd<Real, twoRoundings>(factor, v[column + lane], o[column + lane]);
        }
        for (uint32_t lane = 0; lane < lanes; lane++) {
            o[column + lane] = sum[lane];
        }
    }
}

} // namespace vkf::reference
