// SPDX-License-Identifier: MIT
//
// The interface between the algorithms and the code that divides the work among them.
#pragma once

#include <memory>

#include "reference/kv_head.hpp"

namespace vkf::reference {

// Some selected query rows of one head of one sequence.
struct RowBlock {
    const KvHead* head;
    Mask mask;
    uint32_t batch;
    uint32_t queryHead;
    uint32_t firstRow; // first row of the sequence among the rows of all packed sequences; else 0
    uint32_t first;    // index of the first row among the selected rows
    uint32_t rows;     // at most tileRows, or all selected rows of the head (wantsWholeHeads)

    // Row of the sequence that is number `selected` among the selected rows.
    uint32_t row(const Call& call, uint32_t selected) const { return call.row(selected) - firstRow; }
};

// Magnitudes of a row (row_magnitudes.hpp): means over its keys, weighted by their probabilities without sink and
// dropout.
struct RowMagnitudes {
    double values; // the largest mean |v| of a column
    double scores; // the mean of scale |q| |k| times the slope of the softcap
    double error;  // what roundings may change in o, to first order
};

// o, lse, probabilities and magnitudes of one row. All but o may be null.
struct RowResult {
    double* o;
    double* lse;
    double* probabilities;     // of all keys
    RowMagnitudes* magnitudes; // written by the direct run alone
};

// Where results go. o is [heads, rows, valueDim]. `rows` counts the selected rows if `compact`, otherwise all query
// rows.
struct Output {
    double* o;
    double* lse; // or null
    bool compact;
    RowMagnitudes* magnitudes = nullptr; // [heads, rows], or null

    RowResult row(const Call& call, const RowBlock& block, uint32_t selected) const {
        const uint64_t rowsOfHead = compact ? call.rows : call.problem.queryRows;
        const uint64_t head = call.headNumber(block.batch, block.queryHead);
        const uint64_t row = head * rowsOfHead + (compact ? selected : call.row(selected));
        const uint64_t probabilitiesRow = head * call.rows + selected;
        double* probabilities = call.options.probabilities;
        return {o + row * call.layout(VKF_TENSOR_O).dim, lse == nullptr ? nullptr : lse + row,
                probabilities == nullptr ? nullptr : probabilities + probabilitiesRow * call.problem.keys,
                magnitudes == nullptr ? nullptr : magnitudes + row};
    }
};

// Computes rows. Each thread has an object of its own, because the object holds scratch memory.
class Algorithm {
public:
    virtual ~Algorithm() = default;
    virtual void compute(const RowBlock& block, const Output& output) noexcept = 0;
};

// `call` must outlive the object.
std::unique_ptr<Algorithm> makeDirect(const Call& call);
std::unique_ptr<Algorithm> makeBlockSparse(const Call& call);
std::unique_ptr<Algorithm> makeTiled(const Call& call);
std::unique_ptr<Algorithm> makeTiledFp32(const Call& call, bool twoRoundings);
std::unique_ptr<Algorithm> makeStandard(const Call& call);
std::unique_ptr<Algorithm> makeOnline(const Call& call);
std::unique_ptr<Algorithm> makeTiledKeysOuter(const Call& call);
std::unique_ptr<Algorithm> makeRecompute(const Call& call);

// Whether a RowBlock must hold all selected rows of a head, because the loop over rows is inside the loop over K/V
// tiles.
inline bool wantsWholeHeads(const Call& call) { return call.options.algorithm == VKF_REFERENCE_TILED_KEYS_OUTER; }

} // namespace vkf::reference
