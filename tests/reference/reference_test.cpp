// SPDX-License-Identifier: MIT
//
// The CPU reference against the contract: a second formula, cases by hand, and its algorithms against each other.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "support/masks.hpp"
#include "support/reference.hpp"

namespace {

using vkf::test::Data;
using vkf::test::Inputs;
using vkf::test::Result;
using vkf::test::Shape;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr VkfReferenceAlgorithm algorithms[] = {VKF_REFERENCE_DIRECT,     VKF_REFERENCE_TILED,
                                                VKF_REFERENCE_TILED_FP32, VKF_REFERENCE_STANDARD,
                                                VKF_REFERENCE_ONLINE,     VKF_REFERENCE_TILED_KEYS_OUTER};

uint64_t at(const VkfTensorLayout& layout, uint64_t b, uint64_t h, uint64_t row, uint64_t d) {
    return b * layout.batchStride + h * layout.headStride + row * layout.rowStride + d;
}

// The formula for one row, written again without any optimisation.
Result formula(const VkfProblem& p, const Inputs& inputs, uint32_t b, uint32_t h, uint32_t i) {
    const VkfTensorLayout q = vkf::layoutOf(p, VKF_TENSOR_Q);
    const VkfTensorLayout k = vkf::layoutOf(p, VKF_TENSOR_K);
    const VkfTensorLayout v = vkf::layoutOf(p, VKF_TENSOR_V);
    const uint32_t kvHead = h / (p.queryHeads / p.kvHeads);
    const double scale = p.scale != 0.0F ? p.scale : 1.0F / std::sqrt(static_cast<float>(p.headDim));
    const int64_t keys =
        vkf::has(p, VKF_USE_KEY_LENGTHS) ? std::clamp<int64_t>(inputs.keyLengths[b], 0, p.keys) : p.keys;

    std::vector<double> s(p.keys, -infinity);
    for (uint32_t j = 0; j < p.keys; j++) {
        if (!vkf::test::isVisible(p, keys, i, j)) {
            continue;
        }
        s[j] = 0.0;
        for (uint32_t d = 0; d < p.headDim; d++) {
            s[j] += vkfLoadElement(q.type, inputs.q.data(), at(q, b, h, i, d)) *
                    vkfLoadElement(k.type, inputs.k.data(), at(k, b, kvHead, j, d));
        }
        s[j] *= scale;
        if (p.softcap > 0.0F) {
            s[j] = p.softcap * std::tanh(s[j] / p.softcap);
        }
    }
    const double m = s.empty() ? -infinity : *std::max_element(s.begin(), s.end());
    Result row{std::vector<double>(v.dim, 0.0), {-infinity}};
    if (m == -infinity) {
        return row;
    }
    double l = 0.0;
    for (uint32_t j = 0; j < p.keys; j++) {
        l += std::exp(s[j] - m);
    }
    for (uint32_t j = 0; j < p.keys; j++) {
        for (uint32_t d = 0; d < v.dim && s[j] != -infinity; d++) {
            row.o[d] += std::exp(s[j] - m) / l * vkfLoadElement(v.type, inputs.v.data(), at(v, b, kvHead, j, d));
        }
    }
    row.lse[0] = m + std::log(l);
    return row;
}

// NaN and infinity must be equal. Finite numbers may differ by a share of the largest number, or of 1.
bool near(const std::vector<double>& a, const std::vector<double>& b, double share) {
    double largest = 1.0;
    for (const double x : b) {
        largest = std::isfinite(x) ? std::max(largest, std::abs(x)) : largest;
    }
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](double x, double y) {
        return x == y || (std::isnan(x) && std::isnan(y)) || std::abs(x - y) <= share * largest;
    });
}

struct Case {
    const char* name;
    Shape shape;
    bool causal = false;
    bool rowsOutermost = false; // [batch, rows, heads, dim] with gaps
    VkfAlignment alignment = VKF_ALIGNMENT_BOTTOM_RIGHT;
    int64_t left = -1; // a window unless both are unlimited
    int64_t right = -1;
    std::vector<int32_t> lengths = {};
    float scale = 0.0F;
    float softcap = 0.0F;
    double magnitude = 1.0;
};

constexpr VkfAlignment topLeft = VKF_ALIGNMENT_TOP_LEFT;
const Case cases[] = {
    {.name = "plain", .shape = {2, 3, 3, 7, 97, 64, 0}},
    {.name = "one of everything", .shape = {1, 1, 1, 1, 1, 1, 0}},
    {.name = "no keys", .shape = {1, 2, 1, 3, 0, 8, 0}},
    {.name = "odd sizes, groups of three", .shape = {1, 6, 2, 113, 203, 40, 0}, .scale = 0.3F},
    {.name = "one KV head, value dim of its own", .shape = {2, 5, 1, 13, 65, 72, 24}},
    {.name = "causal", .shape = {1, 2, 2, 97, 97, 80, 0}, .causal = true},
    {.name = "causal, more keys", .shape = {2, 2, 1, 7, 97, 96, 0}, .causal = true},
    {.name = "causal, more rows", .shape = {1, 2, 2, 97, 7, 8, 0}, .causal = true},
    {.name = "causal top-left, more keys", .shape = {1, 2, 2, 7, 97, 8, 0}, .causal = true, .alignment = topLeft},
    {.name = "causal top-left, more rows", .shape = {1, 2, 2, 97, 7, 8, 0}, .causal = true, .alignment = topLeft},
    {.name = "window", .shape = {1, 2, 2, 97, 113, 8, 0}, .left = 9, .right = 5},
    {.name = "window of the diagonal", .shape = {1, 1, 1, 65, 97, 8, 0}, .left = 0, .right = 0},
    {.name = "window to the left", .shape = {1, 1, 1, 65, 97, 8, 0}, .left = 3, .right = -1},
    {.name = "window to the right", .shape = {1, 1, 1, 65, 97, 8, 0}, .left = -1, .right = 3},
    {.name = "window past both ends of the keys",
     .shape = {1, 1, 1, 97, 7, 8, 0},
     .alignment = topLeft,
     .left = 20,
     .right = 4},
    {.name = "window and causal", .shape = {1, 2, 1, 33, 70, 8, 0}, .causal = true, .left = 11, .right = -1},
    {.name = "lengths", .shape = {6, 2, 2, 7, 50, 16, 0}, .lengths = {0, 1, -4, 49, 50, 1000}},
    {.name = "lengths and causal", .shape = {5, 2, 1, 9, 50, 16, 0}, .causal = true, .lengths = {0, 3, 9, 37, 51}},
    {.name = "lengths, top-left window",
     .shape = {3, 2, 1, 40, 50, 16, 0},
     .alignment = topLeft,
     .left = 4,
     .right = 2,
     .lengths = {5, 0, 44}},
    {.name = "softcap", .shape = {1, 2, 2, 11, 97, 32, 0}, .scale = 1.0F, .softcap = 3.0F},
    {.name = "softcap and causal", .shape = {1, 2, 2, 31, 97, 32, 0}, .causal = true, .softcap = 0.5F},
    {.name = "rows outermost", .shape = {2, 4, 2, 9, 33, 24, 0}, .causal = true, .rowsOutermost = true},
    {.name = "negative scale", .shape = {1, 1, 1, 9, 33, 24, 0}, .scale = -0.7F},
    {.name = "magnitude 10000", .shape = {1, 2, 1, 17, 97, 40, 0}, .magnitude = 1e4},
};

VkfProblem problemOf(const Case& c, VkfType type) {
    Shape shape = c.shape;
    shape.type = type;
    VkfProblem p = vkf::test::problemOf(shape);
    vkf::enable(p, VKF_USE_CAUSAL, c.causal);
    p.alignment = c.alignment;
    vkf::enable(p, VKF_USE_WINDOW, c.left != -1 || c.right != -1);
    p.window.left = vkf::has(p, VKF_USE_WINDOW) ? c.left : 0;
    p.window.right = vkf::has(p, VKF_USE_WINDOW) ? c.right : 0;
    vkf::enable(p, VKF_USE_KEY_LENGTHS, !c.lengths.empty());
    p.scale = c.scale;
    p.softcap = c.softcap;
    if (c.rowsOutermost) {
        for (VkfTensor* tensor : {&p.q, &p.k, &p.v, &p.o}) {
            const bool ofQueries = tensor == &p.q || tensor == &p.o;
            tensor->headStride = shape.D + 3;
            tensor->rowStride = tensor->headStride * (ofQueries ? shape.H : shape.Hkv) + 2;
            tensor->batchStride = tensor->rowStride * (ofQueries ? shape.Nq : shape.Nk) + 1;
        }
    }
    return p;
}

Inputs inputsOf(const Case& c, const VkfProblem& p) {
    Data data;
    data.magnitude = c.magnitude;
    data.keyLengths = c.lengths;
    return vkf::test::makeInputs(p, data);
}

Inputs zeroInputs(const VkfProblem& p) {
    Data data;
    data.magnitude = 0.0;
    data.poisonInvisibleKeys = false;
    return vkf::test::makeInputs(p, data);
}

} // namespace

TEST_CASE("the direct algorithm computes the formula", "[reference]") {
    for (const Case& c : cases) {
        for (const VkfType type : {VKF_TYPE_F32, VKF_TYPE_F16, VKF_TYPE_BF16}) {
            INFO(c.name << " " << vkfTypeName(type));
            const VkfProblem p = problemOf(c, type);
            const Inputs inputs = inputsOf(c, p);
            const Result direct = reference(p, inputs, vkf::test::referenceOptions(VKF_REFERENCE_DIRECT));
            Result expected;
            for (uint32_t row = 0; row < direct.lse.size(); row++) {
                const uint32_t head = row / p.queryRows;
                const Result one = formula(p, inputs, head / p.queryHeads, head % p.queryHeads, row % p.queryRows);
                expected.o.insert(expected.o.end(), one.o.begin(), one.o.end());
                expected.lse.push_back(one.lse[0]);
            }
            CHECK(near(direct.o, expected.o, 1e-13));
            CHECK(near(direct.lse, expected.lse, 1e-13));
        }
    }
}

TEST_CASE("the tiled algorithm agrees with the direct one for every tile", "[reference]") {
    constexpr uint32_t tiles[][2] = {{0, 0}, {1, 1}, {3, 7}, {32, 40}, {1000, 4096}};
    for (const Case& c : cases) {
        const VkfProblem p = problemOf(c, VKF_TYPE_F32);
        const Inputs inputs = inputsOf(c, p);
        const Result direct = reference(p, inputs, vkf::test::referenceOptions(VKF_REFERENCE_DIRECT));
        for (const auto& [rows, keys] : tiles) {
            INFO(c.name << ", tile " << rows << "x" << keys);
            const Result tiled = reference(p, inputs, vkf::test::referenceOptions(VKF_REFERENCE_TILED, rows, keys));
            CHECK(near(tiled.o, direct.o, 1e-12));
            CHECK(near(tiled.lse, direct.lse, 1e-12));
            const Result fp32 = reference(p, inputs, vkf::test::referenceOptions(VKF_REFERENCE_TILED_FP32, rows, keys));
            CHECK(near(fp32.o, direct.o, c.magnitude == 1.0 ? 1e-5 : 1.0));
            CHECK(near(fp32.lse, direct.lse, 1e-5));
        }
    }
}

TEST_CASE("standard, online and keys-outer attention agree with the direct one for every tile", "[reference]") {
    constexpr uint32_t tiles[][2] = {{0, 0}, {1, 1}, {3, 7}, {32, 40}, {1000, 4096}, {4294967295U, 4294967295U}};
    for (const Case& c : cases) {
        for (const VkfType type : {VKF_TYPE_F32, VKF_TYPE_BF16}) {
            const VkfProblem p = problemOf(c, type);
            const Inputs inputs = inputsOf(c, p);
            const Result direct = reference(p, inputs, vkf::test::referenceOptions(VKF_REFERENCE_DIRECT));
            for (const auto& [rows, keys] : tiles) {
                for (const auto algorithm :
                     {VKF_REFERENCE_STANDARD, VKF_REFERENCE_ONLINE, VKF_REFERENCE_TILED_KEYS_OUTER}) {
                    INFO(c.name << ", " << vkfTypeName(type) << ", tile " << rows << "x" << keys << ", algorithm "
                                << algorithm);
                    const Result result = reference(p, inputs, vkf::test::referenceOptions(algorithm, rows, keys));
                    CHECK(near(result.o, direct.o, 1e-12));
                    CHECK(near(result.lse, direct.lse, 1e-12));
                }
            }
        }
    }
}

TEST_CASE("the algorithms agree for every head dimension", "[reference]") {
    for (const uint32_t headDim : {1U, 8U, 40U, 64U, 72U, 80U, 96U, 128U, 160U, 192U, 256U}) {
        INFO("head dimension " << headDim);
        const VkfProblem p = vkf::test::problemOf({1, 2, 1, 19, 45, headDim, 0, VKF_TYPE_F16});
        const Inputs inputs = vkf::test::makeInputs(p, {});
        const Result direct = reference(p, inputs, vkf::test::referenceOptions(VKF_REFERENCE_DIRECT));
        const Result tiled = reference(p, inputs, vkf::test::referenceOptions(VKF_REFERENCE_TILED, 5, 13));
        CHECK(near(tiled.o, direct.o, 1e-12));
        CHECK(near(tiled.lse, direct.lse, 1e-12));
        for (const auto algorithm : {VKF_REFERENCE_STANDARD, VKF_REFERENCE_ONLINE, VKF_REFERENCE_TILED_KEYS_OUTER}) {
            CHECK(near(reference(p, inputs, vkf::test::referenceOptions(algorithm, 5, 13)).o, direct.o, 1e-12));
        }
        CHECK(near(direct.o, reference(p, inputs, vkf::test::referenceOptions(VKF_REFERENCE_TILED_FP32)).o, 1e-3));
    }
}

TEST_CASE("causal masks have the documented corners", "[reference]") {
    // All scores are 0 and values are one-hot. Therefore o[i][j] = 1 / visible keys if key j is visible.
    struct Corner {
        uint32_t rows, keys;
        VkfAlignment alignment;
        std::vector<const char*> visible;
    };
    const Corner corners[] = {
        {2, 5, VKF_ALIGNMENT_BOTTOM_RIGHT, {"11110", "11111"}},
        {2, 5, VKF_ALIGNMENT_TOP_LEFT, {"10000", "11000"}},
        {5, 2, VKF_ALIGNMENT_BOTTOM_RIGHT, {"00", "00", "00", "10", "11"}},
        {5, 2, VKF_ALIGNMENT_TOP_LEFT, {"10", "11", "11", "11", "11"}},
    };
    for (const Corner& corner : corners) {
        VkfProblem p = vkf::test::problemOf({1, 1, 1, corner.rows, corner.keys, 4, corner.keys});
        p.use |= VKF_USE_CAUSAL;
        p.alignment = corner.alignment;
        Inputs inputs = zeroInputs(p);
        for (uint32_t j = 0; j < corner.keys; j++) {
            vkfStoreElement(VKF_TYPE_F32, inputs.v.data(), uint64_t{j} * corner.keys + j, 1.0);
        }
        for (const VkfReferenceAlgorithm algorithm : algorithms) {
            const Result result = reference(p, inputs, vkf::test::referenceOptions(algorithm));
            for (uint32_t i = 0; i < corner.rows; i++) {
                INFO(corner.rows << "x" << corner.keys << " row " << i << " algorithm " << algorithm);
                const auto seen = std::count(corner.visible[i], corner.visible[i] + corner.keys, '1');
                for (uint32_t j = 0; j < corner.keys; j++) {
                    const bool visible = corner.visible[i][j] == '1';
                    CHECK((result.o[size_t{i} * corner.keys + j] > 0.0) == visible);
                }
                const double expected = std::log(static_cast<double>(seen)); // ln 0 = -infinity
                CHECK((result.lse[i] == expected || std::abs(result.lse[i] - expected) < 1e-6));
            }
        }
    }
}

TEST_CASE("a window without limits, or as wide as int64, has no effect", "[reference]") {
    VkfProblem p = vkf::test::problemOf({1, 1, 1, 9, 30, 8, 0});
    const Inputs inputs = vkf::test::makeInputs(p, {});
    const Result all = reference(p, inputs, vkf::test::referenceOptions(VKF_REFERENCE_DIRECT));
    for (const int64_t limit : {int64_t{-1}, std::numeric_limits<int64_t>::max()}) {
        p.window = {limit, limit, 0};
        p.use |= VKF_USE_WINDOW;
        CHECK(reference(p, inputs, vkf::test::referenceOptions(VKF_REFERENCE_DIRECT)).o == all.o);
    }
}

TEST_CASE("two keys give the numbers worked out by hand", "[reference]") {
    // q = 1, k = (0, ln 3), scale 1: probabilities 1/4 and 3/4, lse = ln 4.
    VkfProblem p = vkf::test::problemOf({1, 1, 1, 1, 2, 1, 0});
    p.scale = 1.0F;
    Inputs inputs = vkf::test::makeInputs(p, {});
    vkfStoreElement(VKF_TYPE_F32, inputs.q.data(), 0, 1.0);
    vkfStoreElement(VKF_TYPE_F32, inputs.k.data(), 0, 0.0);
    vkfStoreElement(VKF_TYPE_F32, inputs.k.data(), 1, std::log(3.0));
    vkfStoreElement(VKF_TYPE_F32, inputs.v.data(), 0, 8.0);
    vkfStoreElement(VKF_TYPE_F32, inputs.v.data(), 1, -4.0);
    for (const VkfReferenceAlgorithm algorithm : algorithms) {
        const Result result = reference(p, inputs, vkf::test::referenceOptions(algorithm));
        CHECK(std::abs(result.o[0] + 1.0) < 1e-6);
        CHECK(std::abs(result.lse[0] - std::log(4.0)) < 1e-6);
    }
    p.softcap = 2.0F;
    const double capped = 2.0 * std::tanh(std::log(3.0) / 2.0); // = 1
    for (const VkfReferenceAlgorithm algorithm : algorithms) {
        const Result result = reference(p, inputs, vkf::test::referenceOptions(algorithm));
        CHECK(std::abs(result.lse[0] - std::log(1.0 + std::exp(capped))) < 1e-6);
    }
}

TEST_CASE("the fp32 algorithm rounds after every step in the order of the columns", "[reference]") {
    VkfProblem p = vkf::test::problemOf({1, 1, 1, 1, 2, 3, 1});
    Inputs inputs = zeroInputs(p);
    const auto weightOfKey0 = [&](std::array<double, 3> q, std::array<double, 3> k, float scale) {
        p.scale = scale;
        for (uint32_t d = 0; d < 3; d++) {
            vkfStoreElement(VKF_TYPE_F32, inputs.q.data(), d, q[d]);
            vkfStoreElement(VKF_TYPE_F32, inputs.k.data(), d, k[d]);
        }
        vkfStoreElement(VKF_TYPE_F32, inputs.v.data(), 0, 1.0);
        return reference(p, inputs, vkf::test::referenceOptions(VKF_REFERENCE_TILED_FP32)).o[0];
    };
    // The 1 is lost next to 1e8: the score is 0, as for the other key, and not 1.
    CHECK(weightOfKey0({1e8, 1.0, -1e8}, {1.0, 1.0, 1.0}, 1.0F) == 0.5);
    CHECK(weightOfKey0({1e8, -1e8, 1.0}, {1.0, 1.0, 1.0}, 1.0F) > 0.7);
    // The product is not rounded before the addition. Its last bit, 2^-24, remains.
    const double x = 1.0 + 0x1p-12;
    CHECK(weightOfKey0({-(1.0 + 0x1p-11), x, 0.0}, {1.0, x, 0.0}, 0x1p24F) > 0.7);
}

TEST_CASE("the fp32 algorithm stores the output type", "[reference]") {
    for (const VkfType type : {VKF_TYPE_F32, VKF_TYPE_F16, VKF_TYPE_BF16}) {
        VkfProblem p = vkf::test::problemOf({1, 1, 1, 5, 20, 16, 0});
        p.o.type = type;
        const Result result =
            reference(p, vkf::test::makeInputs(p, {}), vkf::test::referenceOptions(VKF_REFERENCE_TILED_FP32));
        for (const double x : result.o) {
            float stored{};
            vkfStoreElement(type, &stored, 0, x);
            CHECK(vkfLoadElement(type, &stored, 0) == x);
        }
    }
}

TEST_CASE("numbers that are not finite follow the formula", "[reference]") {
    const VkfProblem p = vkf::test::problemOf({1, 1, 1, 1, 3, 1, 0});
    const auto run = [&](std::array<double, 3> k, std::array<double, 3> v, VkfReferenceAlgorithm algorithm) {
        Inputs inputs = vkf::test::makeInputs(p, {});
        vkfStoreElement(VKF_TYPE_F32, inputs.q.data(), 0, 1.0);
        for (uint32_t j = 0; j < 3; j++) {
            vkfStoreElement(VKF_TYPE_F32, inputs.k.data(), j, k[j]);
            vkfStoreElement(VKF_TYPE_F32, inputs.v.data(), j, v[j]);
        }
        return reference(p, inputs, vkf::test::referenceOptions(algorithm, 1, 1));
    };
    for (const VkfReferenceAlgorithm algorithm : algorithms) {
        INFO("algorithm " << algorithm);
        // A score of -infinity has a probability of 0.
        CHECK(run({0.0, -infinity, 0.0}, {2.0, 100.0, 4.0}, algorithm).o[0] == 3.0);
        // Only such scores: an empty row.
        const Result empty = run({-infinity, -infinity, -infinity}, {1.0, 1.0, 1.0}, algorithm);
        CHECK(empty.o[0] == 0.0);
        CHECK(empty.lse[0] == -infinity);
        // A score of +infinity, or NaN in a visible key or value.
        const Result unbounded = run({0.0, infinity, 0.0}, {1.0, 1.0, 1.0}, algorithm);
        CHECK(std::isnan(unbounded.o[0]));
        CHECK(std::isnan(unbounded.lse[0]));
        CHECK(std::isnan(run({0.0, NAN, 0.0}, {1.0, 1.0, 1.0}, algorithm).o[0]));
        CHECK(std::isnan(run({NAN, NAN, NAN}, {1.0, 1.0, 1.0}, algorithm).lse[0]));
        CHECK(std::isnan(run({0.0, 0.0, 0.0}, {1.0, NAN, 1.0}, algorithm).o[0]));
        CHECK(run({0.0, 0.0, 0.0}, {1.0, infinity, 1.0}, algorithm).o[0] == infinity);
    }
}

TEST_CASE("the reference computes the selected rows and no others", "[reference]") {
    VkfProblem p = vkf::test::problemOf({2, 4, 2, 23, 40, 16, 0});
    p.use |= VKF_USE_CAUSAL;
    const Inputs inputs = vkf::test::makeInputs(p, {});
    for (const VkfReferenceAlgorithm algorithm : algorithms) {
        VkfReferenceOptions options = vkf::test::referenceOptions(algorithm);
        const Result all = reference(p, inputs, options);
        options.rowBegin = 3;
        options.rowStride = 5;
        const Result some = reference(p, inputs, options);
        for (size_t row = 0; row < all.lse.size(); row++) {
            const size_t i = row % p.queryRows;
            const bool selected = i >= 3 && (i - 3) % 5 == 0;
            CHECK(some.lse[row] == (selected ? all.lse[row] : vkf::test::untouched));
            CHECK(some.o[row * 16 + 15] == (selected ? all.o[row * 16 + 15] : vkf::test::untouched));
        }
    }
}

TEST_CASE("the number of threads changes no bit, and progress only grows", "[reference]") {
    VkfProblem p = vkf::test::problemOf({2, 4, 2, 130, 300, 32, 0});
    p.use |= VKF_USE_CAUSAL;
    const Inputs inputs = vkf::test::makeInputs(p, {});
    for (const VkfReferenceAlgorithm algorithm : algorithms) {
        VkfReferenceOptions options = vkf::test::referenceOptions(algorithm);
        options.threads = 1;
        const Result one = reference(p, inputs, options);
        std::vector<double> shares;
        options.threads = 7;
        options.user = &shares;
        options.progress = [](void* user, double share) { static_cast<std::vector<double>*>(user)->push_back(share); };
        const Result seven = reference(p, inputs, options);
        CHECK(one.o == seven.o);
        CHECK(one.lse == seven.lse);
        REQUIRE(!shares.empty());
        CHECK(std::is_sorted(shares.begin(), shares.end()));
        CHECK(shares.back() == 1.0);
    }
}

TEST_CASE("the fp64 algorithms ignore the product type, the fp32 ones follow it", "[reference]") {
    VkfProblem p = vkf::test::problemOf({1, 2, 1, 23, 140, 16, 0});
    p.q.type = VKF_TYPE_F16; // an fp32 q would be rounded too
    const Inputs inputs = vkf::test::makeInputs(p, {});
    for (const VkfReferenceAlgorithm algorithm : algorithms) {
        VkfReferenceOptions options = vkf::test::referenceOptions(algorithm);
        const Result unrounded = reference(p, inputs, options);
        for (const VkfType type : {VKF_TYPE_F16, VKF_TYPE_BF16}) {
            options.productType = type;
            const Result rounded = reference(p, inputs, options);
            const bool fp64 = algorithm != VKF_REFERENCE_TILED_FP32;
            CHECK((rounded.o == unrounded.o) == fp64);
            // l sums unrounded p. In fp32 it counts from another m, a whole number.
            for (size_t i = 0; i < unrounded.lse.size(); i++) {
                CHECK(std::abs(rounded.lse[i] - unrounded.lse[i]) <= (fp64 ? 0.0 : 1e-6 * unrounded.lse[i]));
            }
        }
    }
}

TEST_CASE("in products of 16-bit types an fp32 q is rounded first, and k and v are not", "[reference]") {
    const VkfProblem p = vkf::test::problemOf({1, 2, 1, 23, 40, 16, 0});
    const Inputs inputs = vkf::test::makeInputs(p, {});
    for (const VkfType type : {VKF_TYPE_F16, VKF_TYPE_BF16}) {
        // A q of the 16-bit type has the rounded elements, and no k or v of it differs from its fp32 one.
        VkfProblem narrow = p;
        narrow.q.type = type;
        Inputs rounded = inputs;
        rounded.q.resize(inputs.q.size() / 2);
        for (uint64_t i = 0; i < rounded.q.size() / 2; i++) {
            vkfStoreElement(type, rounded.q.data(), i, vkfLoadElement(VKF_TYPE_F32, inputs.q.data(), i));
        }
        for (const VkfReferenceAlgorithm algorithm :
             {VKF_REFERENCE_TILED_FP32, VKF_REFERENCE_TILED_FP32_TWO_ROUNDINGS, VKF_REFERENCE_TILED}) {
            VkfReferenceOptions options = vkf::test::referenceOptions(algorithm);
            options.productType = type;
            const bool rounds = algorithm != VKF_REFERENCE_TILED;
            CHECK((reference(p, inputs, options).lse == reference(narrow, rounded, options).lse) == rounds);
            CHECK((reference(p, inputs, options).o == reference(narrow, rounded, options).o) == rounds);
        }
    }
}

TEST_CASE("an fp32 q past the largest fp16 counts as infinite in products of fp16", "[reference]") {
    const VkfProblem p = vkf::test::problemOf({1, 1, 1, 1, 1, 1, 0});
    Inputs inputs = vkf::test::makeInputs(p, {});
    vkfStoreElement(VKF_TYPE_F32, inputs.k.data(), 0, 1.0);
    const auto lseOf = [&](double q, VkfType type) {
        vkfStoreElement(VKF_TYPE_F32, inputs.q.data(), 0, q);
        VkfReferenceOptions options = vkf::test::referenceOptions(VKF_REFERENCE_TILED_FP32);
        options.productType = type;
        return reference(p, inputs, options).lse[0];
    };
    CHECK(std::abs(lseOf(65519.0, VKF_TYPE_F16) / 65504.0 - 1.0) < 1e-6);
    CHECK_FALSE(std::isfinite(lseOf(65520.0, VKF_TYPE_F16)));
    CHECK(lseOf(-65520.0, VKF_TYPE_F16) == -std::numeric_limits<double>::infinity());
    CHECK(std::abs(lseOf(65520.0, VKF_TYPE_F32) / 65520.0 - 1.0) < 1e-6);
    CHECK(std::abs(lseOf(65520.0, VKF_TYPE_BF16) / 65536.0 - 1.0) < 1e-6);
}

TEST_CASE("the reference refuses bad calls and writes nothing", "[reference]") {
    const VkfProblem good = vkf::test::problemOf({1, 1, 1, 2, 3, 4, 0});
    const Inputs memory = vkf::test::makeInputs(good, {});
    const VkfReferenceOptions options = vkf::test::referenceOptions(VKF_REFERENCE_DIRECT);
    std::vector<double> o(8, vkf::test::untouched);
    const auto call = [&](auto change) {
        VkfProblem p = good;
        VkfReferenceInputs i = memory.reference();
        VkfReferenceOptions c = options;
        change(p, i, c);
        VkfMessage message{};
        const VkfResult result = vkfReferenceAttention(&p, &i, &c, o.data(), nullptr, &message);
        CHECK((result == VKF_SUCCESS || message.text[0] != 0));
        return result;
    };
    CHECK(call([](auto& p, auto&, auto&) { p.structSize += 5000; }) == VKF_ERROR_STRUCT_SIZE);
    CHECK(call([](auto&, auto& i, auto&) { i.structSize = 0; }) == VKF_ERROR_STRUCT_SIZE);
    CHECK(call([](auto&, auto&, auto& c) { c.structSize = 3; }) == VKF_ERROR_STRUCT_SIZE);
    CHECK(call([](auto& p, auto&, auto&) { p.headDim = 0; }) == VKF_ERROR_INVALID_ARGUMENT);
    CHECK(call([](auto&, auto& i, auto&) { i.q = nullptr; }) == VKF_ERROR_INVALID_ARGUMENT);
    CHECK(call([](auto&, auto& i, auto&) { i.v = nullptr; }) == VKF_ERROR_INVALID_ARGUMENT);
    CHECK(call([](auto& p, auto&, auto&) { vkf::enable(p, VKF_USE_KEY_LENGTHS); }) == VKF_ERROR_INVALID_ARGUMENT);
    CHECK(call([](auto&, auto&, auto& c) { c.rowBegin = 1; }) == VKF_ERROR_INVALID_ARGUMENT);
    CHECK(call([](auto&, auto&, auto& c) { c.algorithm = VKF_REFERENCE_FORCE_INT32; }) == VKF_ERROR_INVALID_ARGUMENT);
    CHECK(call([](auto&, auto&, auto& c) { c.productType = VKF_TYPE_Q8_0; }) == VKF_ERROR_INVALID_ARGUMENT);
    CHECK(call([](auto&, auto&, auto& c) { c.productType = VKF_TYPE_FORCE_INT32; }) == VKF_ERROR_INVALID_ARGUMENT);
    const VkfReferenceInputs inputs = memory.reference();
    CHECK(vkfReferenceAttention(nullptr, &inputs, &options, o.data(), nullptr, nullptr) == VKF_ERROR_INVALID_ARGUMENT);
    CHECK(vkfReferenceAttention(&good, nullptr, &options, o.data(), nullptr, nullptr) == VKF_ERROR_INVALID_ARGUMENT);
    CHECK(vkfReferenceAttention(&good, &inputs, &options, nullptr, nullptr, nullptr) == VKF_ERROR_INVALID_ARGUMENT);
    CHECK(std::count(o.begin(), o.end(), vkf::test::untouched) == 8);
    CHECK(vkfReferenceAttention(&good, &inputs, nullptr, o.data(), nullptr, nullptr) == VKF_SUCCESS);
    CHECK(std::count(o.begin(), o.end(), vkf::test::untouched) == 0);
}

TEST_CASE("empty outputs succeed without memory", "[reference]") {
    for (const Shape& shape : {Shape{1, 0, 1, 2, 3, 4, 0}, Shape{1, 1, 1, 0, 3, 4, 0}}) {
        const VkfProblem p = vkf::test::problemOf(shape);
        VkfReferenceInputs inputs{};
        inputs.structSize = sizeof inputs;
        CHECK(vkfReferenceAttention(&p, &inputs, nullptr, nullptr, nullptr, nullptr) == VKF_SUCCESS);
    }
}
