// SPDX-License-Identifier: MIT
//
// fp32 q, k and v on path coopmat, which multiplies parts of their numbers: sizes, layouts, and numbers that do not fit
// into parts, which a kernel of path scalar computes again. pairs_test.cpp has each pair of features.
#include <catch2/catch_test_macros.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "support/call.hpp"
#include "support/device.hpp"
#include "support/masks.hpp"
#include "support/variations.hpp"

namespace {

using vkf::test::Data;
using vkf::test::Outcome;
using vkf::test::problemOf;
using Bytes = std::vector<std::byte>;

const vkf::test::Variation& parts = vkf::test::variations[vkf::test::bf16x3Variation];

// Skips the test case on a device that cannot divide fp32 numbers into parts.
vkf::host::Device& bf16x3Device() {
    vkf::test::skipWithoutDevice();
    vkf::host::Device& device = vkf::test::deviceOf(parts);
    VkfProblem problem = problemOf({1, 1, 1, 64, 64, 64});
    problem.path = VKF_PATH_COOPMAT;
    if (vkfCheckSupport(device.context(), &problem, nullptr) != VKF_SUCCESS) {
        SKIP("no matrices for parts of fp32 numbers");
    }
    return device;
}

Outcome check(VkfProblem problem, const Data& data = {}) {
    problem.path = VKF_PATH_COOPMAT;
    Outcome outcome = vkf::test::runCall(bf16x3Device(), problem, data);
    INFO(vkf::test::describe(problem));
    INFO(outcome.text());
    CHECK(outcome.passed());
    CHECK(outcome.plan.path == VKF_PATH_COOPMAT);
    CHECK(outcome.plan.productType == VKF_TYPE_F32);
    return outcome;
}

// Ordinary numbers everywhere, so that no kernel computes again.
Data ordinary() {
    Data data;
    data.poisonInvisibleKeys = false;
    return data;
}

void setBits(Bytes& tensor, uint64_t element, uint32_t bits) {
    std::memcpy(tensor.data() + element * sizeof(float), &bits, sizeof bits);
}

constexpr uint32_t bitsOf(float x) { return std::bit_cast<uint32_t>(x); }

struct Special {
    const char* name;
    uint32_t bits;
    bool fits; // into parts of both types
};
constexpr Special specials[] = {
    {"infinity", 0x7f800000U, false},
    {"-infinity", 0xff800000U, false},
    {"NaN", 0x7fc00000U, false},
    {"a NaN of all bits", 0x7fffffffU, false},
    {"a NaN of one bit", 0x7f800001U, false},
    {"the largest number", 0x7f7fffffU, false},
    {"-3e38", bitsOf(-3e38F), false},
    {"1e30", bitsOf(1e30F), false},
    {"2^60", bitsOf(0x1p60F), false},
    {"1e4", bitsOf(1e4F), true},
    {"1e-38", bitsOf(1e-38F), true},
    {"the smallest number", 1U, true},
    {"-0", 0x80000000U, true},
};

enum class Tensor { q, k, v };

// Rows and keys of `causalProblem`. No row sees key `rows`; the last row sees the key before it.
constexpr uint32_t rows = 37;
constexpr uint32_t keys = 90;

VkfProblem causalProblem() {
    VkfProblem problem = problemOf({1, 2, 1, rows, keys, 40, 40});
    problem.use |= VKF_USE_CAUSAL;
    problem.alignment = VKF_ALIGNMENT_TOP_LEFT;
    problem.kvSplits = 1;
    return problem;
}

Data withElement(Tensor tensor, uint64_t row, uint32_t bits) {
    Data data = ordinary();
    data.edit = [=](Bytes& q, Bytes& k, Bytes& v) {
        setBits(tensor == Tensor::q ? q : tensor == Tensor::k ? k : v, row * 40 + 13, bits);
    };
    return data;
}

// Whether the call gives every bit of path scalar: its kernel computed o again.
bool isPlain(const VkfProblem& problem, const Data& data, const Outcome& outcome) {
    VkfProblem plain = problem;
    plain.path = VKF_PATH_SCALAR;
    return vkf::test::runCall(bf16x3Device(), plain, data).o == outcome.o;
}

} // namespace

TEST_CASE("fp32 as bf16x3: dimensions, rows and keys of every remainder", "[bf16x3]") {
    const std::pair<uint32_t, uint32_t> dims[] = {{1, 3}, {4, 12}, {7, 64}, {8, 20}, {33, 128}, {100, 31}, {128, 127}};
    const std::pair<uint32_t, uint32_t> lengths[] = {{1, 1}, {15, 17}, {64, 7}, {131, 16}, {3, 300}};
    for (size_t i = 0; i < std::size(dims); i++) {
        for (size_t j = 0; j < std::size(lengths); j++) {
            if (vkf::test::wholeSweeps() || i % std::size(lengths) == j) {
                check(problemOf({2, 3, 3, lengths[j].first, lengths[j].second, dims[i].first, dims[i].second}),
                      ordinary());
            }
        }
    }
}

TEST_CASE("fp32 as bf16x3: rows that are not whole words, and other types of o", "[bf16x3]") {
    for (const uint64_t gap : {4U, 3U}) {
        for (const VkfType ofO : {VKF_TYPE_F32, VKF_TYPE_F16, VKF_TYPE_BF16}) {
            if ((gap == 4) != (ofO == VKF_TYPE_F16) && !vkf::test::wholeSweeps()) {
                continue;
            }
            VkfProblem problem = problemOf({2, 4, 2, 33, 70, 72, 36});
            problem.o.type = ofO;
            problem.scale = ofO == VKF_TYPE_F16 ? -0.2F : 0.0F; // its sign goes into q
            for (auto [tensor, heads, count, dim] :
                 {std::tuple{&problem.q, 4U, 33U, 72U}, {&problem.k, 2U, 70U, 72U}, {&problem.v, 2U, 70U, 36U}}) {
                tensor->rowStride = dim + gap;
                tensor->headStride = tensor->rowStride * count;
                tensor->batchStride = tensor->headStride * heads;
            }
            check(problem, ordinary());
        }
    }
}

TEST_CASE("fp32 as bf16x3: many keys, in splits too, whose scores raise m again and again", "[bf16x3]") {
    for (const uint32_t splits : {1U, 5U}) {
        VkfProblem problem = problemOf({1, 2, 2, 40, 1500, 64, 64});
        problem.kvSplits = splits;
        problem.scale = 1.0F;
        vkf::enable(problem, VKF_USE_LSE);
        Data data = ordinary();
        data.edit = [](Bytes&, Bytes& k, Bytes&) { // k grows with the key, and scores with it
            for (uint64_t i = 0; i < k.size() / sizeof(float); i++) {
                const double growth = static_cast<double>(i / 64 % 1500) / 750.0;
                vkfStoreElement(VKF_TYPE_F32, k.data(), i, growth * vkfLoadElement(VKF_TYPE_F32, k.data(), i));
            }
        };
        check(problem, data);
    }
}

TEST_CASE("numbers that do not fit into parts, seen and unseen, in q, k and v", "[bf16x3]") {
    for (const Special& special : specials) {
        for (const Tensor tensor : {Tensor::q, Tensor::k, Tensor::v}) {
            for (const uint64_t row : {uint64_t{5}, uint64_t{rows - 1}, uint64_t{rows}, uint64_t{rows + 30}}) {
                if (tensor == Tensor::q && row >= rows) {
                    continue; // q has no such row in head 0; k and v have keys that no row sees
                }
                INFO(special.name << " in row " << row << " of tensor " << static_cast<int>(tensor));
                check(causalProblem(), withElement(tensor, row, special.bits));
            }
        }
    }
}

TEST_CASE("plain arithmetic computes again if a number does not fit, and only then", "[bf16x3]") {
    const VkfProblem problem = causalProblem();
    for (const Special& special : specials) {
        for (const Tensor tensor : {Tensor::q, Tensor::k, Tensor::v}) {
            INFO(special.name << " in tensor " << static_cast<int>(tensor));
            const Data data = withElement(tensor, 5, special.bits);
            // The other head of the call has ordinary numbers in q, but its results are those of plain arithmetic too.
            CHECK(isPlain(problem, data, check(problem, data)) == !special.fits);
        }
    }
}

TEST_CASE("scores of any size have the accuracy of fp32", "[bf16x3]") {
    // From 2^27 on, in units of log2, an exponent in one fma would have too few bits.
    for (const float scale : {1.0F, 1e3F, 1e5F, 1e7F, 1e9F, 1e36F}) {
        VkfProblem problem = causalProblem();
        problem.scale = scale;
        vkf::enable(problem, VKF_USE_LSE);
        INFO(scale);
        CHECK(isPlain(problem, ordinary(), check(problem, ordinary())) == (scale > 1e6F));
    }
}

TEST_CASE("each call computes again for its own numbers, also in steps, in the same scratch memory", "[bf16x3]") {
    VkfProblem problem = causalProblem();
    problem.maxStepOperations = 200000;
    vkf::enable(problem, VKF_USE_LSE);
    const Data unfit = withElement(Tensor::k, 3, 0x7f800000U);
    const Outcome again = check(problem, unfit);
    CHECK(again.plan.stepCount > 4);
    CHECK(isPlain(problem, unfit, again));
    // runCall poisons scratch memory, so that only a flag that the call clears itself is 0.
    CHECK_FALSE(isPlain(problem, ordinary(), check(problem, ordinary())));
}

TEST_CASE("probabilities of a call that computes again come from its own lse", "[bf16x3]") {
    VkfProblem problem = causalProblem();
    vkf::enable(problem, VKF_USE_PROBABILITIES);
    for (const bool lse : {false, true}) {
        vkf::enable(problem, VKF_USE_LSE, lse);
        check(problem, ordinary());
        check(problem, withElement(Tensor::q, 7, bitsOf(1e30F)));
        check(problem, withElement(Tensor::k, 80, 0x7fc00000U));
    }
}

TEST_CASE("masked keys may hold anything", "[bf16x3]") {
    VkfProblem problem = problemOf({2, 4, 2, 50, 120, 64, 64});
    vkf::enable(problem, VKF_USE_KEY_LENGTHS);
    Data data;
    data.keyLengths = {70, 0};
    check(problem, data); // keys past the length are NaN, and nobody reads them
    problem.mask = vkf::test::broadcast(problem, VKF_TYPE_BOOL8, true, false, false, 3);
    vkf::enable(problem, VKF_USE_MASK);
    check(problem, data); // keys that the mask drops are NaN too
}

TEST_CASE("bf16 parts keep the accuracy of fp32 at every magnitude", "[bf16x3]") {
    vkf::test::skipWithoutDevice();
    if (!vkf::test::hasBf16x3()) {
        SKIP("this device divides fp32 numbers into fp16 parts, which have few exponents");
    }
    for (const double magnitude : {1e-12, 1e-4, 30.0, 1e6, 1e15}) {
        for (const uint32_t dim : {64U, 128U}) {
            VkfProblem problem = problemOf({1, 4, 2, 100, 700, dim});
            problem.scale = static_cast<float>(1.0 / (magnitude * magnitude * std::sqrt(dim)));
            Data data = ordinary();
            data.magnitude = magnitude;
            INFO(magnitude);
            if (magnitude > 1e-10) { // else the scale would overflow
                check(problem, data);
            }
            problem.scale = 0.0F;
            if (magnitude < 100.0) {
                check(problem, data);
            }
        }
    }
}
