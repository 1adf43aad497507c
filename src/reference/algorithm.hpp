// SPDX-License-Identifier: MIT
//
// What an algorithm is to the code that hands out the work.
#pragma once

#include <memory>

#include "kv_head.hpp"

namespace vkf::reference {

// Some selected query rows of one head, and where their results go: both results count selected rows.
struct RowBlock {
    const KvHead* head;
    Mask mask;
    uint32_t batch;
    uint32_t queryHead;
    uint32_t place; // of the first row among the selected ones
    uint32_t rows;  // at most tileRows
};

// o and lse of one row. lse may be null.
struct RowResult {
    double* o;
    double* lse;
};

// Where results go: o is [heads, rows, valueDim], and a selected row's place is its place among the
// selected ones if `compact`, else its own number.
struct Output {
    double* o;
    double* lse; // or null
    bool compact;

    RowResult row(const Call& call, const RowBlock& block, uint32_t place) const {
        const uint64_t rowsOfHead = compact ? call.rows : call.problem.queryRows;
        const uint64_t head = uint64_t{block.batch} * call.problem.queryHeads + block.queryHead;
        const uint64_t row = head * rowsOfHead + (compact ? place : call.row(place));
        return {o + row * call.layout(VKF_TENSOR_O).dim, lse == nullptr ? nullptr : lse + row};
    }
};

// Computes rows, with scratch memory of its own: one object for each thread.
class Algorithm {
public:
    virtual ~Algorithm() = default;
    virtual void compute(const RowBlock& block, const Output& output) noexcept = 0;
};

// call must outlive the object.
std::unique_ptr<Algorithm> makeDirect(const Call& call);
std::unique_ptr<Algorithm> makeBlockSparse(const Call& call);
std::unique_ptr<Algorithm> makeTiled(const Call& call);
std::unique_ptr<Algorithm> makeTiledFp32(const Call& call, bool twoRoundings);

} // namespace vkf::reference
