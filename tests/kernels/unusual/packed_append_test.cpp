// SPDX-License-Identifier: MIT
//
// Appends of packed rows: sequences with different numbers of new rows.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "kernels/append_runs.hpp"

namespace {

using vkf::test::AppendInputs;
using vkf::test::appendOf;
using vkf::test::AppendResults;
using vkf::test::bytesOf;
using vkf::test::check;
using vkf::test::describe;
using vkf::test::fittedAppend;
using vkf::test::randomAppend;
using vkf::test::randomInputs;
using vkf::test::runDevice;

} // namespace

// Sequences with many new rows, with one, and with none; numbers outside of the rows, and rows of no sequence.
TEST_CASE("packed appends give each sequence its own number of new rows", "[append]") {
    for (uint32_t seed = 0; seed < 60; seed++) {
        std::mt19937_64 random(seed + 1000);
        VkfAppendProblem p = randomAppend(seed, random);
        p.batch = 1 + static_cast<uint32_t>(random() % 9);
        p.rows = 1 + static_cast<uint32_t>(random() % 40);
        if (vkf::has(p, VKF_USE_BLOCK_TABLE)) {
            p.paging.pages = 1 + static_cast<uint32_t>(random() % (p.batch * p.paging.maxPages + 3));
        }
        const uint32_t scales[] = {p.k.scales, p.v.scales};
        p.newK = vkf::rowsFirst(p.newK.type, p.rows, p.kvHeads, p.headDim);
        p.newV = vkf::dense(p.newV.type);
        p.k = vkf::dense(p.k.type);
        p.v = vkf::dense(p.v.type);
        p.k.scales = scales[0];
        p.v.scales = scales[1];
        vkf::enable(p, VKF_USE_CU_SEQLENS);
        p = fittedAppend(p);
        INFO("seed " << seed << ": packed " << describe(p));
        AppendInputs inputs = randomInputs(p, random);
        std::vector<int32_t>& starts = inputs.cuSeqlens;
        for (uint32_t b = 0; b <= p.batch; b++) {
            starts.push_back(static_cast<int32_t>(random() % (p.rows + 1)));
        }
        std::ranges::sort(starts);
        starts.front() = seed % 3 == 0 ? -5 : seed % 3 == 1 ? 0 : starts.front();
        starts.back() = seed % 2 == 0 ? static_cast<int32_t>(p.rows) : starts.back() + 1000;
        const AppendResults results = runDevice(p, inputs);
        check(p, inputs, results);
        CHECK((runDevice(p, inputs) == results));
    }
}

TEST_CASE("packed appends are those of each sequence alone", "[append]") {
    VkfAppendProblem p = fittedAppend(appendOf({.batch = 3, .kvHeads = 2, .rows = 8, .keys = 20, .headDim = 16}));
    vkf::enable(p, VKF_USE_CU_SEQLENS);
    std::mt19937_64 random(4);
    AppendInputs inputs = randomInputs(p, random);
    inputs.lengths = {3, 0, 17};
    inputs.cuSeqlens = {0, 6, 6, 8};
    const AppendResults together = runDevice(p, inputs);
    CHECK(together.newLengths == std::vector<int32_t>{9, 0, 19});
    const uint64_t cache = bytesOf(vkf::layoutOf(p, VKF_APPEND_K)) / p.batch;
    for (const uint32_t b : {0U, 2U}) {
        VkfAppendProblem alone = p;
        const auto first = static_cast<uint32_t>(inputs.cuSeqlens[b]);
        vkf::enable(alone, VKF_USE_CU_SEQLENS, false);
        alone.batch = 1;
        alone.rows = static_cast<uint32_t>(inputs.cuSeqlens[b + 1]) - first;
        alone.newK.headStride = alone.newV.headStride = uint64_t{p.rows} * p.headDim;
        alone.newK.rowStride = alone.newV.rowStride = p.headDim;
        AppendInputs part = inputs;
        const auto skipped = static_cast<ptrdiff_t>(first * p.headDim * sizeof(float));
        part.newK.erase(part.newK.begin(), part.newK.begin() + skipped);
        part.newV.erase(part.newV.begin(), part.newV.begin() + skipped);
        part.lengths = {inputs.lengths[b]};
        part.cuSeqlens.clear();
        const AppendResults own = runDevice(alone, part);
        CHECK(std::equal(own.k.begin(), own.k.end(), together.k.begin() + static_cast<ptrdiff_t>(b * cache)));
        CHECK(own.newLengths[0] == together.newLengths[b]);
    }
}
