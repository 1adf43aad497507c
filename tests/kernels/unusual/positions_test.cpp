// SPDX-License-Identifier: MIT
//
// Positions of the call's own, on every path: parts of a longer sequence have the masks and ALiBi of the whole.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "support/call.hpp"
#include "support/everywhere.hpp"
#include "support/masks.hpp"
#include "support/reference.hpp"
#include "support/variations.hpp"

namespace {

using vkf::test::checkEverywhere;
using vkf::test::Data;
using vkf::test::Inputs;
using vkf::test::problemOf;
using vkf::test::setWindow;

// Rows and keys of a part, as numbers in the whole sequence: first, first + stride and so on.
struct Share {
    uint32_t first, stride, count;
};

// One head of the whole, in fp32: the rows and keys of a share of each.
VkfProblem partOf(VkfProblem whole, Share rows, Share keys) {
    whole.queryRows = rows.count;
    whole.keys = keys.count;
    whole.use |= VKF_USE_POSITIONS;
    whole.alignment = VKF_ALIGNMENT_BOTTOM_RIGHT;
    whole.positions = {rows.first, rows.stride, keys.first, keys.stride};
    return whole;
}

std::vector<std::byte> partOf(const std::vector<std::byte>& tensor, uint32_t dim, Share share) {
    const size_t bytes = dim * sizeof(float);
    std::vector<std::byte> part(share.count * bytes);
    for (uint32_t i = 0; i < share.count; i++) {
        std::memcpy(part.data() + i * bytes, tensor.data() + (share.first + size_t{i} * share.stride) * bytes, bytes);
    }
    return part;
}

// The shares of `count` rows or keys that n ranks have: in turn, or in pieces.
std::vector<Share> sharesOf(uint32_t count, uint32_t n, bool inTurn) {
    std::vector<Share> shares;
    const uint32_t piece = (count + n - 1) / n;
    for (uint32_t r = 0; r < n; r++) {
        shares.push_back(inTurn ? Share{r, n, (count - r + n - 1) / n}
                                : Share{r * piece, 1, std::min(count, (r + 1) * piece) - r * piece});
    }
    return shares;
}

// Merges o and lse of another part of the keys into those of a row.
void merge(std::vector<double>& o, double& lse, const double* otherO, double otherLse) {
    if (std::isinf(otherLse)) {
        return;
    }
    const double together = std::max(lse, otherLse) + std::log1p(std::exp(-std::abs(lse - otherLse)));
    for (size_t i = 0; i < o.size(); i++) {
        o[i] = (std::isinf(lse) ? 0 : std::exp(lse - together) * o[i]) + std::exp(otherLse - together) * otherO[i];
    }
    lse = std::isinf(lse) ? otherLse : together;
}

// Whether the parts of the keys together give what the whole call gives.
void checkParts(const VkfProblem& whole, bool inTurn, uint32_t ranks) {
    const Inputs inputs = vkf::test::makeInputs(whole, {.poisonInvisibleKeys = false});
    const auto options = vkf::test::referenceOptions(VKF_REFERENCE_DIRECT);
    const vkf::test::Result expected = vkf::test::reference(whole, inputs, options);
    for (const Share& rows : sharesOf(whole.queryRows, ranks, inTurn)) {
        std::vector<std::vector<double>> o(rows.count, std::vector<double>(whole.headDim, 0.0));
        std::vector<double> lse(rows.count, -std::numeric_limits<double>::infinity());
        for (const Share& keys : sharesOf(whole.keys, ranks, inTurn)) {
            Inputs part = inputs;
            part.q = partOf(inputs.q, whole.headDim, rows);
            part.k = partOf(inputs.k, whole.headDim, keys);
            part.v = partOf(inputs.v, whole.headDim, keys);
            const vkf::test::Result result = vkf::test::reference(partOf(whole, rows, keys), part, options);
            for (uint32_t i = 0; i < rows.count; i++) {
                merge(o[i], lse[i], result.o.data() + size_t{i} * whole.headDim, result.lse[i]);
            }
        }
        for (uint32_t i = 0; i < rows.count; i++) {
            const size_t row = rows.first + size_t{i} * rows.stride;
            INFO(vkf::test::describe(whole) << ", row " << row);
            CHECK((lse[i] == expected.lse[row] || std::abs(lse[i] - expected.lse[row]) < 1e-12));
            for (uint32_t c = 0; c < whole.headDim; c++) {
                CHECK(std::abs(o[i][c] - expected.o[row * whole.headDim + c]) < 1e-12);
            }
        }
    }
}

void causal(VkfProblem& p) { p.use |= VKF_USE_CAUSAL; }
void leftWindow(VkfProblem& p) {
    p.use |= VKF_USE_CAUSAL;
    setWindow(p, 13, 0);
}
void window(VkfProblem& p) { setWindow(p, 40, 25); }
void alibi(VkfProblem& p) { p.use |= VKF_USE_ALIBI; }
void causalAlibi(VkfProblem& p) { p.use |= VKF_USE_CAUSAL | VKF_USE_ALIBI; }

constexpr std::array masks = {causal, leftWindow, window, alibi, causalAlibi};

// Chunks of both sides before, on and behind the diagonal, and parts in turn.
constexpr std::array<VkfPositions, 6> places = {{
    {0, 0, 100, 0},
    {100, 1, 0, 1},
    {37, 1, 30, 1},
    {1, 4, 3, 4},
    {180, 1, 2, 3},
    {5, 7, 0, 2},
}};

} // namespace

TEST_CASE("parts of a sequence have the masks and the ALiBi of the whole", "[positions]") {
    for (const auto& mask : masks) {
        for (const bool inTurn : {false, true}) {
            VkfProblem whole = problemOf({1, 1, 1, 47, 47, 8});
            mask(whole);
            checkParts(whole, inTurn, 3);
        }
    }
}

TEST_CASE("every path takes positions of the call's own", "[positions]") {
    constexpr std::array<VkfType, 3> types = {VKF_TYPE_F16, VKF_TYPE_F32, VKF_TYPE_BF16};
    size_t number = 0;
    for (const auto& mask : masks) {
        for (const VkfPositions& place : places) {
            number++;
            const bool few = number % 3 == 0;
            VkfProblem problem = problemOf({2, 4, 2, few ? 3U : 77U, 150, 40, 24, types[number % types.size()]});
            mask(problem);
            problem.use |= VKF_USE_POSITIONS;
            problem.positions = place;
            checkEverywhere(problem);
        }
    }
}

TEST_CASE("sequences have offsets of their own", "[positions]") {
    size_t number = 0;
    for (const auto& mask : masks) {
        for (const bool packed : {false, true}) {
            number++;
            VkfProblem problem = problemOf({4, 4, 2, number % 2 == 0 ? 3U : 70U, 130, 64, 0, VKF_TYPE_F16});
            Data data;
            data.rowOffsets = {-300, 5, 61, 900};
            mask(problem);
            problem.use |= VKF_USE_POSITIONS | VKF_USE_ROW_OFFSETS;
            problem.positions.rowStride = 2;
            if (packed) {
                vkf::test::setPacked(problem, data, {7, 70, 0, 33}, {40, 100, 12, 130});
            } else {
                vkf::enable(problem, VKF_USE_KEY_LENGTHS);
                data.keyLengths = {130, 90, 0, 17};
            }
            checkEverywhere(problem, data);
        }
    }
}

TEST_CASE("offsets on the device that are far too large are clamped", "[positions]") {
    VkfProblem problem = problemOf({4, 2, 2, 40, 90, 64, 0, VKF_TYPE_F16});
    problem.use |= VKF_USE_POSITIONS | VKF_USE_ROW_OFFSETS;
    problem.positions = {0, 8192, 0, 8192};
    setWindow(problem, -1, 1000);
    Data data;
    data.rowOffsets = {INT32_MIN, INT32_MAX, 0, -70000};
    checkEverywhere(problem, data);
    problem.positions = {};
    checkEverywhere(problem, data);
}
