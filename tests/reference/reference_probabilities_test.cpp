// SPDX-License-Identifier: MIT
//
// Probabilities of the reference: standard attention against the formula, and probabilities recomputed from lse against
// standard attention.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "support/masks.hpp"
#include "support/reference.hpp"

namespace {

using vkf::test::Data;
using vkf::test::Inputs;
using vkf::test::Result;
using vkf::test::Shape;
using vkf::test::untouched;

constexpr double infinity = std::numeric_limits<double>::infinity();

struct Case {
    const char* name;
    Shape shape;
    bool causal = false;
    VkfAlignment alignment = VKF_ALIGNMENT_BOTTOM_RIGHT;
    int64_t left = -1; // a window unless both are unlimited
    int64_t right = -1;
    std::vector<int32_t> lengths = {};
    float softcap = 0.0F;
    uint32_t maskBlock = 0;
    double magnitude = 1.0;
};

const Case cases[] = {
    {.name = "plain", .shape = {2, 3, 1, 7, 97, 64, 0}},
    {.name = "one of everything", .shape = {1, 1, 1, 1, 1, 1, 0}},
    {.name = "no keys", .shape = {1, 2, 1, 3, 0, 8, 0}},
    {.name = "causal, more rows", .shape = {1, 2, 2, 97, 7, 8, 0}, .causal = true},
    {.name = "causal top-left", .shape = {1, 2, 1, 33, 70, 8, 5}, .causal = true, .alignment = VKF_ALIGNMENT_TOP_LEFT},
    {.name = "window", .shape = {1, 2, 2, 97, 113, 8, 0}, .left = 9, .right = 5},
    {.name = "lengths and causal", .shape = {5, 2, 1, 9, 50, 16, 0}, .causal = true, .lengths = {0, 3, 9, 37, 51}},
    {.name = "softcap", .shape = {1, 2, 2, 11, 97, 32, 0}, .softcap = 0.5F},
    {.name = "blocks", .shape = {2, 4, 2, 97, 113, 8, 0}, .maskBlock = 16},
    {.name = "blocks, causal and lengths",
     .shape = {2, 2, 1, 70, 90, 8, 0},
     .causal = true,
     .lengths = {90, 41},
     .maskBlock = 32},
    {.name = "magnitude 4", .shape = {1, 2, 1, 17, 97, 40, 0}, .magnitude = 4.0},
};

VkfProblem problemOf(const Case& c) {
    VkfProblem p = vkf::test::problemOf(c.shape);
    vkf::enable(p, VKF_USE_CAUSAL, c.causal);
    p.alignment = c.alignment;
    if (c.left != -1 || c.right != -1) {
        vkf::enable(p, VKF_USE_WINDOW);
        p.window = {c.left, c.right, 0};
    }
    vkf::enable(p, VKF_USE_KEY_LENGTHS, !c.lengths.empty());
    p.softcap = c.softcap;
    p.blockMask.blockSize = c.maskBlock;
    vkf::enable(p, VKF_USE_BLOCK_MASK, c.maskBlock != 0);
    if (c.maskBlock != 0) {
        const VkfBlockMaskLayout blocks = vkf::blockMaskLayoutOf(p);
        p.blockMask.headStride = uint64_t{blocks.rowBlocks} * blocks.rowWords;
        p.blockMask.batchStride = p.blockMask.headStride * p.queryHeads;
    }
    return p;
}

Inputs inputsOf(const Case& c, const VkfProblem& p) {
    Data data;
    data.magnitude = c.magnitude;
    data.keyLengths = c.lengths;
    return vkf::test::makeInputs(p, data);
}

struct Computed {
    Result result;
    std::vector<double> probabilities; // poisoned before the call
};

Computed compute(const VkfProblem& p, const Inputs& inputs, VkfReferenceOptions options) {
    const uint32_t stride = std::max(options.rowStride, 1U);
    const size_t rows = options.rowBegin < p.queryRows ? (p.queryRows - options.rowBegin - 1) / stride + 1 : 0;
    Computed computed;
    computed.probabilities.resize(size_t{p.batch} * p.queryHeads * rows * p.keys, untouched);
    options.probabilities = computed.probabilities.data();
    computed.result = reference(p, inputs, options);
    return computed;
}

double largestDifference(const std::vector<double>& a, const std::vector<double>& b) {
    REQUIRE(a.size() == b.size());
    double largest = 0.0;
    for (size_t i = 0; i < a.size(); i++) {
        largest = a[i] == b[i] ? largest : std::max(largest, std::abs(a[i] - b[i]));
        if (std::isnan(a[i] - b[i]) && a[i] != b[i]) {
            largest = infinity;
        }
    }
    return largest;
}

} // namespace

TEST_CASE("probabilities of standard attention are zero for dropped keys, sum to 1 and give o", "[reference]") {
    for (const Case& c : cases) {
        INFO(c.name);
        const VkfProblem p = problemOf(c);
        const Inputs inputs = inputsOf(c, p);
        const Computed standard = compute(p, inputs, vkf::test::referenceOptions(VKF_REFERENCE_STANDARD, 5));
        const VkfTensorLayout v = vkf::layoutOf(p, VKF_TENSOR_V);
        for (size_t row = 0; row < standard.result.lse.size(); row++) {
            const size_t head = row / p.queryRows;
            const size_t b = head / p.queryHeads;
            const size_t kvHead = head % p.queryHeads / (p.queryHeads / p.kvHeads);
            const int64_t keys =
                vkf::has(p, VKF_USE_KEY_LENGTHS) ? std::clamp<int64_t>(inputs.keyLengths[b], 0, p.keys) : p.keys;
            double sum = 0.0;
            std::vector<double> o(v.dim);
            int wrong = 0;
            for (uint32_t j = 0; j < p.keys; j++) {
                const double probability = standard.probabilities[row * p.keys + j];
                const auto i = static_cast<int64_t>(row % p.queryRows);
                const bool open =
                    !vkf::has(p, VKF_USE_BLOCK_MASK) ||
                    vkf::test::isOpenBlock(p, inputs.blockMask, b, head % p.queryHeads,
                                           static_cast<uint64_t>(i) / p.blockMask.blockSize, j / p.blockMask.blockSize);
                const bool visible = open && vkf::test::isVisible(p, keys, i, j);
                wrong += visible ? !(probability >= 0.0 && probability <= 1.0) : probability != 0.0;
                sum += probability;
                for (uint32_t d = 0; d < v.dim && visible; d++) {
                    o[d] +=
                        probability * vkfLoadElement(v.type, inputs.v.data(),
                                                     b * v.batchStride + kvHead * v.headStride + j * v.rowStride + d);
                }
            }
            CHECK(wrong == 0);
            const bool empty = standard.result.lse[row] == -infinity;
            CHECK(std::abs(sum - (empty ? 0.0 : 1.0)) < 1e-13);
            for (uint32_t d = 0; d < v.dim; d++) {
                CHECK(std::abs(standard.result.o[row * v.dim + d] - o[d]) < 1e-12 * std::max(c.magnitude, 1.0));
            }
        }
    }
}

TEST_CASE("the steps from standard attention agree with the direct algorithm under block masks", "[reference]") {
    for (const Case& c : cases) {
        if (c.maskBlock == 0) {
            continue;
        }
        const VkfProblem p = problemOf(c);
        const Inputs inputs = inputsOf(c, p);
        const Result direct = reference(p, inputs, vkf::test::referenceOptions(VKF_REFERENCE_DIRECT));
        for (const auto algorithm : {VKF_REFERENCE_STANDARD, VKF_REFERENCE_ONLINE, VKF_REFERENCE_TILED_KEYS_OUTER}) {
            for (const uint32_t tile : {7U, 16U, 48U}) {
                INFO(c.name << ", tiles of " << tile << ", algorithm " << algorithm);
                const Result result = reference(p, inputs, vkf::test::referenceOptions(algorithm, tile, tile));
                CHECK(largestDifference(result.o, direct.o) < 1e-12);
                CHECK(largestDifference(result.lse, direct.lse) < 1e-12);
            }
        }
    }
}

TEST_CASE("P recomputed from lse is P, and makes the same o", "[reference]") {
    for (const Case& c : cases) {
        INFO(c.name);
        const VkfProblem p = problemOf(c);
        const Inputs inputs = inputsOf(c, p);
        const Computed standard = compute(p, inputs, vkf::test::referenceOptions(VKF_REFERENCE_STANDARD));
        VkfReferenceOptions options = vkf::test::referenceOptions(VKF_REFERENCE_RECOMPUTE);
        const Result tiled = reference(p, inputs, vkf::test::referenceOptions(VKF_REFERENCE_TILED));
        options.savedLse = tiled.lse.data();
        const Computed recomputed = compute(p, inputs, options);
        CHECK(largestDifference(recomputed.probabilities, standard.probabilities) < 1e-12);
        CHECK(largestDifference(recomputed.result.o, standard.result.o) < 1e-12 * std::max(c.magnitude, 1.0));
        CHECK(recomputed.result.lse == tiled.lse);
    }
}

TEST_CASE("an error of lse is a factor of the recomputed probabilities", "[reference]") {
    const VkfProblem p = vkf::test::problemOf({1, 1, 1, 5, 9, 8, 0});
    const Inputs inputs = vkf::test::makeInputs(p, {});
    std::vector<double> lse = reference(p, inputs, vkf::test::referenceOptions(VKF_REFERENCE_DIRECT)).lse;
    VkfReferenceOptions options = vkf::test::referenceOptions(VKF_REFERENCE_RECOMPUTE);
    options.savedLse = lse.data();
    const std::vector<double> exact = compute(p, inputs, options).probabilities;
    lse[2] += std::log(2.0);
    const std::vector<double> halved = compute(p, inputs, options).probabilities;
    for (size_t i = 0; i < exact.size(); i++) {
        CHECK(std::abs(halved[i] - exact[i] * (i / 9 == 2 ? 0.5 : 1.0)) < 1e-15);
    }
    // An infinity of either sign: some libraries save it for an empty row.
    for (const double saved : {infinity, -infinity}) {
        lse[2] = saved;
        const Computed empty = compute(p, inputs, options);
        CHECK(empty.result.lse[2] == -infinity);
        for (size_t j = 0; j < 9; j++) {
            CHECK(empty.probabilities[2 * 9 + j] == 0.0);
        }
        CHECK(empty.result.o[2 * 8] == 0.0);
    }
    lse[2] = std::nan("");
    CHECK(std::isnan(compute(p, inputs, options).probabilities[2 * 9]));
}

TEST_CASE("a row that is not a number leaves the probabilities of dropped keys at 0", "[reference]") {
    VkfProblem p = vkf::test::problemOf({1, 1, 1, 3, 3, 1, 0});
    p.use |= VKF_USE_CAUSAL;
    Inputs inputs = vkf::test::makeInputs(p, {});
    for (uint64_t i = 0; i < 3; i++) {
        vkfStoreElement(VKF_TYPE_F32, inputs.q.data(), i, 1.0);
        vkfStoreElement(VKF_TYPE_F32, inputs.k.data(), i, i == 1 ? infinity : 0.0);
    }
    const Computed standard = compute(p, inputs, vkf::test::referenceOptions(VKF_REFERENCE_STANDARD));
    CHECK(standard.probabilities[0] == 1.0);
    CHECK(standard.probabilities[1] == 0.0);
    CHECK(std::isnan(standard.probabilities[4]));
    CHECK(standard.probabilities[5] == 0.0);
    CHECK(std::isnan(standard.result.lse[1]));
}

TEST_CASE("probabilities are those of the selected rows, side by side", "[reference]") {
    VkfProblem p = vkf::test::problemOf({2, 4, 2, 23, 40, 16, 0});
    p.use |= VKF_USE_CAUSAL;
    const Inputs inputs = vkf::test::makeInputs(p, {});
    const Computed all = compute(p, inputs, vkf::test::referenceOptions(VKF_REFERENCE_STANDARD));
    for (const VkfReferenceAlgorithm algorithm : {VKF_REFERENCE_STANDARD, VKF_REFERENCE_RECOMPUTE}) {
        VkfReferenceOptions options = vkf::test::referenceOptions(algorithm, 2);
        options.rowBegin = 3;
        options.rowStride = 5;
        options.threads = 3;
        options.savedLse = all.result.lse.data();
        const Computed some = compute(p, inputs, options);
        REQUIRE(some.probabilities.size() == size_t{8} * 4 * 40);
        std::vector<double> expected;
        for (size_t head = 0; head < 8; head++) {
            for (size_t row = 3; row < 23; row += 5) {
                const double* first = &all.probabilities[(head * 23 + row) * 40];
                expected.insert(expected.end(), first, first + 40);
            }
        }
        CHECK(largestDifference(some.probabilities, expected) < 1e-12);
    }
}

TEST_CASE("probabilities and saved lse are refused where they are of no use or missing", "[reference]") {
    const VkfProblem p = vkf::test::problemOf({1, 1, 1, 2, 3, 4, 0});
    const Inputs memory = vkf::test::makeInputs(p, {});
    const VkfReferenceInputs inputs = memory.reference();
    std::vector<double> o(8, untouched);
    std::vector<double> probabilities(6, untouched);
    const auto refuses = [&](VkfReferenceAlgorithm algorithm, const char* words) {
        VkfReferenceOptions options = vkf::test::referenceOptions(algorithm);
        options.probabilities = probabilities.data();
        VkfMessage message{};
        CHECK(vkfReferenceAttention(&p, &inputs, &options, o.data(), nullptr, &message) == VKF_ERROR_INVALID_ARGUMENT);
        CHECK_THAT(std::string(message.text), Catch::Matchers::ContainsSubstring(words));
    };
    for (const auto algorithm : {VKF_REFERENCE_DIRECT, VKF_REFERENCE_TILED, VKF_REFERENCE_TILED_FP32,
                                 VKF_REFERENCE_ONLINE, VKF_REFERENCE_TILED_KEYS_OUTER}) {
        refuses(algorithm, "options.probabilities must be null with options.algorithm");
    }
    refuses(VKF_REFERENCE_RECOMPUTE, "options.savedLse is null");
    CHECK(std::count(o.begin(), o.end(), untouched) == 8);
    CHECK(std::count(probabilities.begin(), probabilities.end(), untouched) == 6);
}
